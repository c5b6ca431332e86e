// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ctl/plan/launch_plan.h"
#include "wire/ip_config.h"

// From what lies here and ip_config's lines to which file each machine gets under which path: pure,
// so that `graphctl copy --dry_run` shows exactly what a copy would do.
//
//   WORKSPACE/<ip_config>                    every machine
//   WORKSPACE/<script_folder>/...            every machine
//   WORKSPACE/REL_DATA_PATH/<part config>    every machine, rewritten: RewritePartConfig
//   WORKSPACE/REL_DATA_PATH/<map>.npy        every machine, if owners are in files (DGL 0.5-0.9)
//   WORKSPACE/REL_DATA_PATH/<names>.gz       every machine, if nodes have names
//   WORKSPACE/REL_DATA_PATH/part<i>/...      the machine of line i
//
// A machine's files are in the order in which they are sent: the part config is the last, so that
// none is there before its partitions are.

namespace graphd::ctl {

// A file that was found on this machine.
struct LocalFile {
  std::string path;
  uint64_t size = 0;
  unsigned mode = 0644;  // permission bits
  // An array in it whose checksum is written elsewhere: damage is found before anything is sent.
  struct Array {
    std::string name;
    uint64_t offset = 0, bytes = 0, xxh3 = 0;
  };
  std::vector<Array> arrays;  // by offset, not overlapping
};

struct CopySources {
  LocalFile part_config, ip_config;
  std::string part_config_text;               // as it is here
  std::vector<LocalFile> maps;                // files that node_map and edge_map name
  std::vector<LocalFile> names;               // of nodes, a file for each type that has them
  std::vector<std::vector<LocalFile>> parts;  // by PartId
  struct Script {
    LocalFile file;
    std::string relative;  // to the script folder
  };
  std::string script_folder;  // empty: none
  std::vector<Script> scripts;
};

struct CopyFile {
  LocalFile source;
  std::string target;  // relative to the workspace: names, with single slashes
  bool has_text = false;
  std::string text;  // if has_text, it is this that is sent, not what lies in source.path
};

struct CopyHost {
  bool is_local = false;
  std::string name;  // for messages: the address
  std::string address;
  std::vector<PartId> parts;
  std::vector<size_t> files;  // indices into CopyPlan::files, ascending
  uint64_t bytes = 0;         // of those
};

struct CopyPlan {
  std::string workspace;
  std::vector<CopyFile> files;
  std::vector<CopyHost> hosts;  // one per machine, in order of first appearance
};

// `workspace` is absolute. Throws Error(kInvalid) if lines and partitions differ in number, or two
// files would have the same path.
CopyPlan MakeCopyPlan(const std::string& workspace, const std::string& rel_data_path,
                      const CopySources& sources, const std::vector<HostLine>& lines,
                      const LocalTest& is_local);

// A part config whose partitions' files are part<i>/<name>, relative to the config itself, which is
// where DGL (0.6 and later) and graphd look for them. Maps become <directory>/<name> with the
// directory in which the config will lie, absolute, because DGL opens their paths as they are. The
// text comes back unchanged if there is nothing to change. `path` names it in messages.
std::string RewritePartConfig(const std::string& text, const std::string& path,
                              const std::string& directory);

std::string CopyPlanToJson(const CopyPlan& plan);
std::string CopyPlanToText(const CopyPlan& plan);

}  // namespace graphd::ctl
