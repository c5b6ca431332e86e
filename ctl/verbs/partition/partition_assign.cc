// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/partition/partition_assign.h"

#include "ctl/verbs/verbs.h"

namespace graphd::ctl {

void PartitionAssign::AddOptions(CLI::App& verb) {
  verb.add_option(Flags("num_parts"), options_.num_parts, "Number of partitions")->required();
  verb.add_option(Flags("part_method"), method_,
                  "metis (few edges between partitions), multilevel (about as few, for graphs that "
                  "are too large for METIS), ldg or fennel (usually more, with less memory), "
                  "random or its synonym hash, or file")
      ->capture_default_str();
  verb.add_option(Flags("seed"), options_.seed, "The same seed gives the same partitions")
      ->capture_default_str();
  verb.add_option(
      Flags("assignment"), options_.assignment,
      "With --part_method file: PATH, TYPE=PATH or a directory of TYPE.txt with the partition "
      "of each node, as text (gzip or plain) or .npy");
  verb.add_option(Flags("balance_ntypes"), options_.balance_ntypes,
                  "Balance the nodes of each class: a node feature [TYPE/]NAME, or [TYPE=]PATH of "
                  "a file with a class for each node. Node types are always classes");
  verb.add_flag(Flags("balance_edges"), options_.balance_edges,
                "Also balance the edges (in-degrees) of each class");
  verb.add_option(Flags("edge_weights"), options_.edge_weights,
                  "Edge feature with the cost of cutting each edge (metis)");
  verb.add_option(Flags("objtype"), objective_,
                  "What metis minimises: cut (edges between partitions) or vol (copies of nodes)")
      ->capture_default_str();
  verb.add_option(Flags("num_trainers_per_machine"), options_.num_trainers_per_machine,
                  "Assign nodes to this many trainers in each partition, as the feature trainer_id")
      ->capture_default_str();
}

void PartitionAssign::Apply(AssignOptions& options) const {
  options = options_;
  options.method = PartMethodFromName(method_);
  options.objective = ObjectiveFromName(objective_);
}

}  // namespace graphd::ctl
