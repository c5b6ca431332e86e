// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/copy_plan.h"

#include <limits.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/plan/relative_path.h"
#include "graph/id_json.h"

namespace graphd::ctl {
namespace {

std::string Below(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

// Throws unless a name is UTF-8, because names are sent as JSON, which must be UTF-8.
void CheckUtf8(const std::string& name) {
  try {
    nlohmann::json(name).dump();
  } catch (const nlohmann::json::type_error&) {
    const auto replace = nlohmann::json::error_handler_t::replace;
    Throw(
        ErrorCode::kInvalid, "the path ", nlohmann::json(name).dump(-1, ' ', false, replace),
        " in the workspace would not be UTF-8; rename files and folders whose names are not UTF-8");
  }
}

// Returns the machines of ip_config and trainer_hosts. Lines with the same address name the same
// machine, and all local addresses name this machine.
std::vector<CopyHost> MachinesOf(const std::vector<HostLine>& lines,
                                 const std::vector<TrainerHost>& trainer_hosts,
                                 const LocalTest& is_local) {
  std::vector<CopyHost> hosts;
  // Returns a machine, and whether it is new.
  const auto find = [&](const std::string& address) -> std::pair<CopyHost*, bool> {
    const bool local = is_local(address);
    for (CopyHost& known : hosts) {
      if ((local && known.is_local) || known.address == address) return {&known, false};
    }
    return {&hosts.emplace_back(CopyHost{local, address, address, {}, {}, 0}), true};
  };
  for (const HostLine& line : lines) find(line.address).first->parts.push_back(line.part);
  for (const TrainerHost& host : trainer_hosts) {
    const auto [known, is_new] = find(host.address);
    if (is_new) continue;
    Throw(ErrorCode::kInvalid, host.where, ": '", host.address, "' is the machine of '",
          known->address, "', which is named before it; remove the line");
  }
  return hosts;
}

class Planner {
 public:
  Planner(const std::string& workspace, const std::string& data, const CopySources& sources)
      : data_(data), sources_(sources) {
    CheckUtf8(workspace);
    plan_.workspace = workspace;
  }

  CopyPlan Make(std::vector<CopyHost> hosts) {
    plan_.hosts = std::move(hosts);
    for (CopyHost& host : plan_.hosts) {
      for (PartId part : host.parts) AddPart(host, part);
    }
    std::vector<size_t> common;
    for (const auto* files : {&sources_.maps, &sources_.names}) {
      for (const LocalFile& file : *files) {
        common.push_back(Add(file, Below(data_, BaseName(file.path))));
      }
    }
    for (const CopySources::Script& script : sources_.scripts) {
      const std::string target = BaseName(sources_.script_folder) + "/" + script.relative;
      common.push_back(Add(script.file, target));
    }
    common.push_back(Add(sources_.ip_config, BaseName(sources_.ip_config.path)));
    common.push_back(AddPartConfig());
    for (CopyHost& host : plan_.hosts) {
      host.files.insert(host.files.end(), common.begin(), common.end());
      for (size_t file : host.files) host.bytes += plan_.files[file].source.size;
    }
    CheckDirectories();
    CheckPartials();
    return std::move(plan_);
  }

 private:
  void AddPart(CopyHost& host, PartId part) {
    for (const LocalFile& file : sources_.parts[static_cast<size_t>(part)]) {
      const std::string target = StrCat("part", part, "/", BaseName(file.path));
      host.files.push_back(Add(file, Below(data_, target)));
    }
  }

  size_t AddPartConfig() {
    const std::string& path = sources_.part_config.path;
    const size_t index = Add(sources_.part_config, Below(data_, BaseName(path)));
    CopyFile& file = plan_.files[index];
    file.has_text = true;
    file.text = RewritePartConfig(sources_.part_config_text, path, Below(plan_.workspace, data_));
    file.source.size = file.text.size();
    return index;
  }

  size_t Add(const LocalFile& source, std::string target) {
    CheckUtf8(target);
    const auto [other, fresh] = sources_of_.emplace(target, source.path);
    if (!fresh) {
      Throw(ErrorCode::kInvalid, other->second, " and ", source.path, " would both be copied to ",
            target, " in the workspace; rename one, or choose another --rel_data_path");
    }
    plan_.files.push_back({source, std::move(target), false, {}});
    return plan_.files.size() - 1;
  }

  // Throws if a file would have the path of a directory that contains other files.
  void CheckDirectories() const {
    for (const auto& [target, source] : sources_of_) {
      const auto below = sources_of_.lower_bound(target + "/");
      if (below == sources_of_.end() || below->first.rfind(target + "/", 0) != 0) continue;
      Throw(ErrorCode::kInvalid, source, " would be copied to ", target, " in the workspace, and ",
            below->second, " to ", below->first, "; rename one, or choose another --rel_data_path");
    }
  }

  // Throws if a file would have the name that another file has while it is being received.
  void CheckPartials() const {
    for (const auto& [target, source] : sources_of_) {
      const std::string name = PartialName(BaseName(target));
      if (name.size() > NAME_MAX) {
        Throw(ErrorCode::kInvalid, source, " has a name of more than ",
              NAME_MAX - PartialName("").size(), " bytes; rename it");
      }
      const auto other = sources_of_.find(target.substr(0, target.rfind('/') + 1) + name);
      if (other == sources_of_.end()) continue;
      Throw(ErrorCode::kInvalid, other->second, " has the name that ", source,
            " has in the workspace during a copy; remove it if an earlier copy left it, else "
            "rename it");
    }
  }

  const std::string data_;
  const CopySources& sources_;
  CopyPlan plan_;
  std::map<std::string, std::string> sources_of_;  // source path, keyed by target
};

}  // namespace

CopyPlan MakeCopyPlan(const std::string& workspace, const std::string& rel_data_path,
                      const CopySources& sources, const std::vector<HostLine>& lines,
                      const LocalTest& is_local, const std::vector<TrainerHost>& trainer_hosts) {
  if (lines.size() != sources.parts.size()) {
    Throw(ErrorCode::kInvalid, sources.ip_config.path, " has ", lines.size(), " lines, and ",
          sources.part_config.path, " ", sources.parts.size(),
          " partitions; write one line 'address [port]' per partition (an address may occur more "
          "than once)");
  }
  const std::string data = CleanRelativePath(rel_data_path, "--rel_data_path");
  return Planner(workspace, data, sources).Make(MachinesOf(lines, trainer_hosts, is_local));
}

std::string RewritePartConfig(const std::string& text, const std::string& path,
                              const std::string& directory) {
  auto root = ParseJson<nlohmann::ordered_json>(text);
  if (!root.is_object())
    Throw(ErrorCode::kCorrupt, path, " is not a JSON object; is it a part config?");
  const nlohmann::ordered_json before = root;
  for (auto& [key, value] : root.items()) {
    if ((key == "node_map" || key == "edge_map") && value.is_string()) {
      value = Below(directory, BaseName(value.get<std::string>()));
    } else if (key.rfind("part-", 0) == 0 && value.is_object()) {
      for (auto& file : value) {
        if (file.is_string()) file = "part" + key.substr(5) + "/" + BaseName(file);
      }
    }
  }
  return root == before ? text : root.dump(2) + "\n";
}

std::string CopyPlanToJson(const CopyPlan& plan) {
  nlohmann::ordered_json root;
  root["workspace"] = plan.workspace;
  root["hosts"] = nlohmann::ordered_json::array();
  for (const CopyHost& host : plan.hosts) {
    nlohmann::ordered_json entry;
    entry["name"] = host.name;
    entry["local"] = host.is_local;
    entry["parts"] = host.parts;
    entry["bytes"] = host.bytes;
    for (size_t index : host.files) {
      const CopyFile& file = plan.files[index];
      entry["files"].push_back({{"source", file.source.path},
                                {"target", plan.workspace + "/" + file.target},
                                {"bytes", file.source.size},
                                {"rewritten", file.has_text}});
    }
    root["hosts"].push_back(std::move(entry));
  }
  return root.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string CopyPlanToText(const CopyPlan& plan) {
  std::string text;
  for (const CopyHost& host : plan.hosts) {
    text += StrCat(host.name, host.is_local ? " (this machine)" : "", ": ", host.files.size(),
                   " files, ", HumanBytes(host.bytes), "\n");
    for (size_t index : host.files) {
      const CopyFile& file = plan.files[index];
      text += StrCat("  ", file.source.path, file.has_text ? " (rewritten)" : "", " -> ",
                     plan.workspace, "/", file.target, "\n");
    }
  }
  return text;
}

}  // namespace graphd::ctl
