// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ctl/plan/launch_plan.h"
#include "wire/ip_config.h"

// The plan of a copy: which file each machine receives under which path. It is made from the local
// files and ip_config's lines. Planning has no side effects, so that `graphctl copy --dry_run`
// shows exactly what a copy would do.
//
//   WORKSPACE/<ip_config>                    every machine
//   WORKSPACE/<script_folder>/...            every machine
//   WORKSPACE/REL_DATA_PATH/<part config>    every machine, rewritten: RewritePartConfig
//   WORKSPACE/REL_DATA_PATH/<map>.npy        every machine, if owners are in files (DGL 0.5-0.9)
//   WORKSPACE/REL_DATA_PATH/<names>.gz       every machine, if nodes or labels have names
//   WORKSPACE/REL_DATA_PATH/part<i>/...      the machine of line i
//
// The machines of --trainer_hosts are among "every machine", but have no line and so no partition.
//
// A machine's files are listed in the order in which they are sent. The part config is the last
// one, so that it never exists before its partitions.

namespace graphd::ctl {

// A file that was found on this machine.
struct LocalFile {
  std::string path;
  uint64_t size = 0;
  unsigned mode = 0644;  // permission bits
  // An array in the file, whose checksum another file has recorded. The checksum is compared before
  // any file is sent.
  struct Array {
    std::string name;
    uint64_t offset = 0, bytes = 0, xxh3 = 0;
  };
  std::vector<Array> arrays;  // sorted by offset, not overlapping
};

struct CopySources {
  LocalFile part_config, ip_config;
  std::string part_config_text;               // unchanged
  std::vector<LocalFile> maps;                // the files that node_map and edge_map name
  std::vector<LocalFile> names;               // files of node names, and of texts of labels
  std::vector<std::vector<LocalFile>> parts;  // indexed by PartId
  struct Script {
    LocalFile file;
    std::string relative;  // path relative to the script folder
  };
  std::string script_folder;  // empty: none
  std::vector<Script> scripts;
};

struct CopyFile {
  LocalFile source;
  std::string target;  // relative to the workspace, without "." or double slashes
  bool has_text = false;
  std::string text;  // if has_text, this is sent instead of the content of source.path
};

struct CopyHost {
  bool is_local = false;
  std::string name;  // the address, for messages
  std::string address;
  std::vector<PartId> parts;
  std::vector<size_t> files;  // indices into CopyPlan::files, ascending
  uint64_t bytes = 0;         // total size of `files`
};

struct CopyPlan {
  std::string workspace;
  std::vector<CopyFile> files;
  std::vector<CopyHost> hosts;  // one per machine, in order of first appearance
};

// Plans a copy into `workspace`, which must be an absolute path. Throws Error(kInvalid) if the
// numbers of lines and partitions differ, if two files would have the same path, or if a machine
// of trainer_hosts has been named before.
CopyPlan MakeCopyPlan(const std::string& workspace, const std::string& rel_data_path,
                      const CopySources& sources, const std::vector<HostLine>& lines,
                      const LocalTest& is_local,
                      const std::vector<TrainerHost>& trainer_hosts = {});

// Returns the part config `text` with the paths of the copied files. The files of partitions become
// part<i>/<name>; DGL (0.6 and later) and graphd look for them relative to the config itself. Maps
// become <directory>/<name>, because DGL opens their paths unchanged; <directory> is the absolute
// path of the directory that will contain the config. Returns the text unchanged if it needs no
// changes. `path` names the config in messages.
std::string RewritePartConfig(const std::string& text, const std::string& path,
                              const std::string& directory);

std::string CopyPlanToJson(const CopyPlan& plan);
std::string CopyPlanToText(const CopyPlan& plan);

}  // namespace graphd::ctl
