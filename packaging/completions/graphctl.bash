# SPDX-License-Identifier: Apache-2.0
# Completes the verbs and options of graphctl in bash. scripts/make_completions.py writes this file.

_graphctl() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local verb='' verbs='' options='' aliases='' paths='' word skip=''
  COMPREPLY=()
  # Bash makes a word of the = between an option and its value.
  if [[ $current = = ]]; then
    current=''
  elif [[ $previous = = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $verb:$skip:$word in
      ''::launch) verb='launch' ;;
      ''::attach) verb='attach' ;;
      ''::checkpoint) verb='checkpoint' ;;
      ''::config) verb='config' ;;
      ''::convert) verb='convert' ;;
      ''::copy) verb='copy' ;;
      ''::debug) verb='debug' ;;
      ''::doctor) verb='doctor' ;;
      ''::inspect) verb='inspect' ;;
      ''::keys) verb='keys' ;;
      ''::logs) verb='logs' ;;
      ''::partition) verb='partition' ;;
      ''::plan) verb='plan' ;;
      ''::ps) verb='ps' ;;
      ''::restart) verb='restart' ;;
      ''::stop) verb='stop' ;;
      ''::server) verb='server' ;;
      ''::status) verb='status' ;;
      ''::tensors) verb='tensors' ;;
      ''::top) verb='top' ;;
      ''::verify) verb='verify' ;;
      ''::wait) verb='wait' ;;
      launch::-- | launch::[!-]*)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return ;;
      'checkpoint'::create) verb='checkpoint create' ;;
      'checkpoint'::list) verb='checkpoint list' ;;
      'checkpoint'::show) verb='checkpoint show' ;;
      'checkpoint'::restore) verb='checkpoint restore' ;;
      'checkpoint'::delete) verb='checkpoint delete' ;;
      'checkpoint'::export) verb='checkpoint export' ;;
      'config'::check) verb='config check' ;;
      'debug'::requests) verb='debug requests' ;;
      'debug'::memory) verb='debug memory' ;;
      'keys'::create) verb='keys create' ;;
      'keys'::list) verb='keys list' ;;
      'keys'::rotate) verb='keys rotate' ;;
      'keys'::revoke) verb='keys revoke' ;;
      'keys'::distribute) verb='keys distribute' ;;
      'server'::start) verb='server start' ;;
      'server'::stop) verb='server stop' ;;
      'server'::status) verb='server status' ;;
      'server'::drain) verb='server drain' ;;
      'server'::undrain) verb='server undrain' ;;
      'server'::end_job) verb='server end_job' ;;
      'server'::log_level) verb='server log_level' ;;
      'server'::logs) verb='server logs' ;;
      'server'::reload) verb='server reload' ;;
      'server'::switch) verb='server switch' ;;
      'tensors'::list) verb='tensors list' ;;
      'tensors'::export) verb='tensors export' ;;
      'tensors'::drop) verb='tensors drop' ;;
      *:yes:=) ;;
      *:yes:*) skip='' ;;
      *::=) skip=yes ;;
      *::--assignment | *::--balance-ntypes | *::--balance_ntypes | *::--client | \
        *::--connect-timeout | *::--connect_timeout | *::--days | *::--dst-col | *::--dst_col | \
        *::--durability | *::--edge-weights | *::--edge_weights | *::--edges | *::--embedding | \
        *::--embedding-memory | *::--embedding_memory | *::--extra-envs | *::--extra_envs | \
        *::--feat-cols | *::--feat_cols | *::--file | *::--format | *::--grace | \
        *::--graph-format | *::--graph-formats | *::--graph-name | *::--graph_format | \
        *::--graph_formats | *::--graph_name | *::--graphctl | *::--graphd | *::--header | \
        *::--host-memory | *::--host-timeout | *::--host_memory | *::--host_timeout | \
        *::--html | *::--input | *::--input-format | *::--input_format | *::--interval | \
        *::--ip-config | *::--ip_config | *::--job | *::--jobs | *::--keys | *::--launcher | \
        *::--level | *::--limit | *::--lines | *::--log-dir | *::--log_dir | *::--master-port | \
        *::--master_port | *::--max-restarts | *::--max_restarts | *::--memory | \
        *::--memory-dir | *::--memory_dir | *::--min-trainers | *::--min_trainers | *::--nodes | \
        *::--num-hops | *::--num-nodes | *::--num-omp-threads | *::--num-parts | \
        *::--num-samplers | *::--num-servers | *::--num-trainers | \
        *::--num-trainers-per-machine | *::--num_hops | *::--num_nodes | *::--num_omp_threads | \
        *::--num_parts | *::--num_samplers | *::--num_servers | *::--num_trainers | \
        *::--num_trainers_per_machine | *::--objtype | *::--optimizer | *::--output | \
        *::--part | *::--part-config | *::--part-method | *::--part_config | *::--part_method | \
        *::--python | *::--reason | *::--rel-data-path | *::--rel_data_path | *::--runtime-dir | \
        *::--runtime_dir | *::--script-folder | *::--script_folder | *::--secret | *::--seed | \
        *::--separator | *::--server-grace | *::--server-name | *::--server_grace | \
        *::--server_name | *::--since | *::--split | *::--src-col | *::--src_col | \
        *::--ssh-config | *::--ssh-port | *::--ssh-username | *::--ssh_config | *::--ssh_port | \
        *::--ssh_username | *::--stall-timeout | *::--stall_timeout | *::--start-timeout | \
        *::--start_timeout | *::--state-dir | *::--state_dir | *::--store-as | *::--store_as | \
        *::--tensor | *::--tensors | *::--timeout | *::--trainer-hosts | *::--trainer_hosts | \
        *::--wait | *::--workspace | *::-n)
        skip=yes ;;
    esac
  done
  case $previous in
    --assignment | --edges | --file | --graphctl | --graphd | --html | --input | --ip-config | \
        --ip_config | --nodes | --part-config | --part_config | --secret | --ssh-config | \
        --ssh_config | --trainer-hosts | --trainer_hosts)
        paths=f ;;
    --memory-dir | --memory_dir | --output | --rel-data-path | --rel_data_path | --runtime-dir | \
        --runtime_dir | --script-folder | --script_folder | --state-dir | --state_dir | \
        --workspace)
        paths=d ;;
    --separator)
        mapfile -t COMPREPLY < <(compgen -W 'auto comma tab semicolon space' -- "$current"); return ;;
    --input-format | --input_format)
        mapfile -t COMPREPLY < <(compgen -W 'auto ogb edges parquet npy mtx chunked partition' -- "$current"); return ;;
    --header)
        mapfile -t COMPREPLY < <(compgen -W 'auto yes no' -- "$current"); return ;;
    --graph-formats | --graph_formats)
        mapfile -t COMPREPLY < <(compgen -W 'coo csc csr' -- "$current"); return ;;
    --objtype)
        mapfile -t COMPREPLY < <(compgen -W 'cut vol' -- "$current"); return ;;
    --level)
        mapfile -t COMPREPLY < <(compgen -W 'debug info warning error' -- "$current"); return ;;
    --part-method | --part_method)
        mapfile -t COMPREPLY < <(compgen -W 'metis multilevel ldg fennel random hash file' -- "$current"); return ;;
    --format)
        mapfile -t COMPREPLY < <(compgen -W 'native dgl' -- "$current"); return ;;
    --durability)
        mapfile -t COMPREPLY < <(compgen -W 'none process power' -- "$current"); return ;;
    --optimizer)
        mapfile -t COMPREPLY < <(compgen -W 'sgd adagrad row_adagrad adam' -- "$current"); return ;;
    --launcher)
        mapfile -t COMPREPLY < <(compgen -W 'ssh local slurm torchrun' -- "$current"); return ;;
    --balance-ntypes | --balance_ntypes | --client | --connect-timeout | --connect_timeout | \
        --days | --dst-col | --dst_col | --edge-weights | --edge_weights | --embedding | \
        --embedding-memory | --embedding_memory | --extra-envs | --extra_envs | --feat-cols | \
        --feat_cols | --grace | --graph-format | --graph-name | --graph_format | --graph_name | \
        --host-memory | --host-timeout | --host_memory | --host_timeout | --interval | --job | \
        --jobs | --keys | --limit | --lines | --log-dir | --log_dir | --master-port | \
        --master_port | --max-restarts | --max_restarts | --memory | --min-trainers | \
        --min_trainers | --num-hops | --num-nodes | --num-omp-threads | --num-parts | \
        --num-samplers | --num-servers | --num-trainers | --num-trainers-per-machine | \
        --num_hops | --num_nodes | --num_omp_threads | --num_parts | --num_samplers | \
        --num_servers | --num_trainers | --num_trainers_per_machine | --part | --python | \
        --reason | --seed | --server-grace | --server-name | --server_grace | --server_name | \
        --since | --split | --src-col | --src_col | --ssh-port | --ssh-username | --ssh_port | \
        --ssh_username | --stall-timeout | --stall_timeout | --start-timeout | --start_timeout | \
        --store-as | --store_as | --tensor | --tensors | --timeout | --wait | -n)
        return ;;
  esac
  if [[ -n $paths ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -"$paths" -- "$current")
    return
  fi
  case $verb in
    '')
      verbs='launch attach checkpoint config convert copy debug doctor inspect keys logs partition plan ps restart stop server status tensors top verify wait'
      options='-h --help --version'
      ;;
    'launch')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout
        --trainer_hosts --part_config --num_servers --state_dir --durability --memory_dir
        --embedding_memory --graphd --keys --secret --insecure --start_timeout --launcher
        --num_trainers --num_samplers --row_cache --num_omp_threads --extra_envs --master_port
        --log_dir --no_logs --keep_alive --server_grace --detach --max_restarts --min_trainers
        --graph_format --dry_run --json'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout --trainer-hosts --part-config
        --num-servers --state-dir --memory-dir --embedding-memory --start-timeout --num-trainers
        --num-samplers --row-cache --num-omp-threads --extra-envs --master-port --log-dir
        --no-logs --keep-alive --server-grace --max-restarts --min-trainers --graph-format
        --dry-run'
      ;;
    'attach')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout
        --trainer_hosts --lines'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout --trainer-hosts'
      ;;
    'checkpoint')
      verbs='create list show restore delete export'
      options='-h --help'
      ;;
    'checkpoint create')
      options='-h --help --server_name --ip_config --runtime_dir --keys --secret --timeout --json
        --tensors --file'
      aliases='--server-name --ip-config --runtime-dir'
      ;;
    'checkpoint list')
      options='-h --help --server_name --ip_config --runtime_dir --keys --secret --timeout --json'
      aliases='--server-name --ip-config --runtime-dir'
      ;;
    'checkpoint show')
      options='-h --help --server_name --ip_config --runtime_dir --keys --secret --timeout --json'
      aliases='--server-name --ip-config --runtime-dir'
      ;;
    'checkpoint restore')
      options='-h --help --server_name --ip_config --runtime_dir --keys --secret --timeout --json
        --tensors'
      aliases='--server-name --ip-config --runtime-dir'
      ;;
    'checkpoint delete')
      options='-h --help --server_name --ip_config --runtime_dir --keys --secret --timeout --json'
      aliases='--server-name --ip-config --runtime-dir'
      ;;
    'checkpoint export')
      options='-h --help --server_name --ip_config --runtime_dir --keys --secret --timeout --json
        --tensors --output'
      aliases='--server-name --ip-config --runtime-dir'
      ;;
    'config')
      verbs='check'
      options='-h --help'
      ;;
    'config check')
      options='-h --help --graphd'
      ;;
    'convert')
      options='-h --help --part_config --output --force --json'
      aliases='--part-config'
      ;;
    'copy')
      options='-h --help --part_config --ip_config --trainer_hosts --workspace --rel_data_path
        --script_folder --jobs --stall_timeout --verify --dry_run --json --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout'
      aliases='--part-config --ip-config --trainer-hosts --rel-data-path --script-folder
        --stall-timeout --dry-run --ssh-port --ssh-username --ssh-config --ssh-accept-new
        --connect-timeout --host-timeout'
      ;;
    'debug')
      verbs='requests memory'
      options='-h --help'
      ;;
    'debug requests')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout --json
        --limit'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'debug memory')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout --json
        --limit'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'doctor')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout
        --trainer_hosts --part_config --num_servers --state_dir --durability --memory_dir
        --embedding_memory --graphd --keys --secret --insecure --start_timeout --json'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout --trainer-hosts --part-config
        --num-servers --state-dir --memory-dir --embedding-memory --start-timeout'
      ;;
    'inspect')
      paths=f
      options='-h --help --part --statistics --html --json'
      ;;
    'keys')
      verbs='create list rotate revoke distribute'
      options='-h --help'
      ;;
    'keys create')
      options='-h --help --server_name --keys --json --days --client --shared_secret'
      aliases='--server-name --shared-secret'
      ;;
    'keys list')
      options='-h --help --server_name --keys --json'
      aliases='--server-name'
      ;;
    'keys rotate')
      options='-h --help --server_name --keys --json --days --ip_config --trainer_hosts --graphctl
        --ssh_port --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout
        --client'
      aliases='--server-name --ip-config --trainer-hosts --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'keys revoke')
      options='-h --help --server_name --keys --json --ip_config --trainer_hosts --graphctl
        --ssh_port --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout'
      aliases='--server-name --ip-config --trainer-hosts --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'keys distribute')
      options='-h --help --server_name --keys --json --ip_config --trainer_hosts --graphctl
        --ssh_port --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout
        --client'
      aliases='--server-name --ip-config --trainer-hosts --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'logs')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout
        --trainer_hosts --lines -f'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout --trainer-hosts --follow'
      ;;
    'partition')
      options='-h --help --input --input_format --add_reverse --split --edges --nodes --num_nodes
        --src_col --dst_col --feat_cols --separator --header --map_ids --python --graph_name
        --output --format --edge_orig_id --store_as --num_hops --graph_formats --num_parts
        --part_method --seed --assignment --balance_ntypes --balance_edges --edge_weights
        --objtype --num_trainers_per_machine --memory --force --json'
      aliases='--input-format --add-reverse --num-nodes --src-col --dst-col --feat-cols --map-ids
        --graph-name --edge-orig-id --store-as --num-hops --graph-formats --num-parts
        --part-method --balance-ntypes --balance-edges --edge-weights --num-trainers-per-machine'
      ;;
    'plan')
      paths=f
      options='-h --help --ip_config --embedding --optimizer --tensor --embedding_memory
        --host_memory --num_trainers --num_samplers --row_cache --trainer_hosts --json'
      aliases='--ip-config --embedding-memory --host-memory --num-trainers --num-samplers
        --row-cache --trainer-hosts'
      ;;
    'ps')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout --json'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'restart')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout
        --trainer_hosts --num_trainers --grace'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout --trainer-hosts --num-trainers'
      ;;
    'stop')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout --job
        --grace'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'server')
      verbs='start stop status drain undrain end_job log_level logs reload switch'
      options='-h --help'
      ;;
    'server start')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout
        --part_config --num_servers --state_dir --durability --memory_dir --embedding_memory
        --graphd --keys --secret --insecure --start_timeout --json'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout --part-config --num-servers --state-dir
        --memory-dir --embedding-memory --start-timeout'
      ;;
    'server stop')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout --json
        --force --timeout'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'server status')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout --json'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'server drain')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout --json
        --reason --wait'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'server undrain')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout --json'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'server end_job')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout --json
        --reason'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'server log_level')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout --json'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'server logs')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout -f -n
        --since --level --json'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout --follow --lines'
      ;;
    'server reload')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout --json'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'server switch')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout --json'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'status')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout --json'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'tensors')
      verbs='list export drop'
      options='-h --help'
      ;;
    'tensors list')
      options='-h --help --server_name --ip_config --runtime_dir --keys --secret --timeout --json'
      aliases='--server-name --ip-config --runtime-dir'
      ;;
    'tensors export')
      options='-h --help --server_name --ip_config --runtime_dir --keys --secret --timeout --json
        --output'
      aliases='--server-name --ip-config --runtime-dir'
      ;;
    'tensors drop')
      options='-h --help --server_name --ip_config --runtime_dir --keys --secret --timeout --json'
      aliases='--server-name --ip-config --runtime-dir'
      ;;
    'top')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout --interval
        --once --json'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout'
      ;;
    'verify')
      paths=f
      options='-h --help --json'
      ;;
    'wait')
      options='-h --help --server_name --ip_config --workspace --runtime_dir --graphctl --ssh_port
        --ssh_username --ssh_config --ssh_accept_new --connect_timeout --host_timeout
        --trainer_hosts'
      aliases='--server-name --ip-config --runtime-dir --ssh-port --ssh-username --ssh-config
        --ssh-accept-new --connect-timeout --host-timeout --trainer-hosts'
      ;;
  esac
  if [[ $current = -* || -z $verbs$paths ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
      mapfile -t COMPREPLY < <(compgen -W "$aliases" -- "$current")
    fi
  elif [[ -n $verbs ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$current")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _graphctl graphctl
