// SPDX-License-Identifier: Apache-2.0
#include "ctl/partition_input.h"

#include "base/strings.h"
#include "ctl/verbs.h"
#include "format/ogb_raw.h"

namespace graphd::ctl {

void PartitionInput::AddOptions(CLI::App& verb) {
  verb.add_option(Flags("input"), path_,
                  "Directory in OGB's raw layout: raw/edge.csv.gz, raw/node-feat.csv.gz, ...")
      ->required();
  verb.add_option(Flags("input_format"), format_, "auto (by what is there) or ogb")
      ->capture_default_str();
  verb.add_flag(Flags("add_reverse"), add_reverse_,
                "Add the reverse of every edge, with the same features");
  verb.add_option(Flags("split"), split_,
                  "Which split/NAME becomes train_mask, val_mask and test_mask; needed if there "
                  "are several");
}

RawGraph PartitionInput::Read(const StepProgress& progress) const {
  if (format_ != "auto" && format_ != "ogb") {
    Throw(ErrorCode::kInvalid, "unknown input format '", format_, "'; there are: auto, ogb");
  }
  return ReadOgbRaw(path_, {.add_reverse = add_reverse_, .split = split_, .progress = progress});
}

}  // namespace graphd::ctl
