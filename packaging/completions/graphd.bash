# SPDX-License-Identifier: Apache-2.0
# Completes the verbs and options of graphd in bash. scripts/make_completions.py writes this file.

_graphd() {
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
      *:yes:=) ;;
      *:yes:*) skip='' ;;
      *::=) skip=yes ;;
      *::--allow-operate | *::--allow-read | *::--allow-write | *::--allow_operate | \
        *::--allow_read | *::--allow_write | *::--config | *::--data-threads | \
        *::--data_threads | *::--durability | *::--embedding-memory | *::--embedding_memory | \
        *::--hang-timeout | *::--hang_timeout | *::--index | *::--index-memory | \
        *::--index_memory | *::--keys | *::--listen | *::--log-file | *::--log-level | \
        *::--log_file | *::--log_level | *::--max-connections | *::--max_connections | \
        *::--memory-dir | *::--memory_dir | *::--metrics | *::--metrics-peers | \
        *::--metrics_peers | *::--num-servers | *::--num_servers | *::--part-config | \
        *::--part-id | *::--part_config | *::--part_id | *::--peer-memory | *::--peer_memory | \
        *::--port | *::--runtime-dir | *::--runtime_dir | *::--secret | *::--server-name | \
        *::--server_name | *::--state-dir | *::--state_dir | *::--weight | \
        *::--write-back-seconds | *::--write-timeout | *::--write_back_seconds | \
        *::--write_timeout)
        skip=yes ;;
    esac
  done
  case $previous in
    --config | --log-file | --log_file | --part-config | --part_config | --secret)
        paths=f ;;
    --memory-dir | --memory_dir | --runtime-dir | --runtime_dir | --state-dir | --state_dir)
        paths=d ;;
    --log-level | --log_level)
        mapfile -t COMPREPLY < <(compgen -W 'debug info warning error' -- "$current"); return ;;
    --durability)
        mapfile -t COMPREPLY < <(compgen -W 'none process power' -- "$current"); return ;;
    --allow-operate | --allow-read | --allow-write | --allow_operate | --allow_read | \
        --allow_write | --data-threads | --data_threads | --embedding-memory | \
        --embedding_memory | --hang-timeout | --hang_timeout | --index | --index-memory | \
        --index_memory | --keys | --listen | --max-connections | --max_connections | --metrics | \
        --metrics-peers | --metrics_peers | --num-servers | --num_servers | --part-id | \
        --part_id | --peer-memory | --peer_memory | --port | --server-name | --server_name | \
        --weight | --write-back-seconds | --write-timeout | --write_back_seconds | \
        --write_timeout)
        return ;;
  esac
  if [[ -n $paths ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -"$paths" -- "$current")
    return
  fi
  case $verb in
    '')
      options='-h --help --version --config --server_name --part_config --part_id --index --listen
        --port --keys --secret --runtime_dir --state_dir --durability --memory_dir
        --embedding_memory --write_back_seconds --num_servers --data_threads --max_connections
        --write_timeout --hang_timeout --peer_memory --index_memory --allow_read --allow_write
        --allow_operate --weight --insecure --metrics --metrics_insecure --metrics_peers
        --check_config --end_with_jobs --log_file --log_level'
      aliases='--server-name --part-config --part-id --runtime-dir --state-dir --memory-dir
        --embedding-memory --write-back-seconds --num-servers --data-threads --max-connections
        --write-timeout --hang-timeout --peer-memory --index-memory --allow-read --allow-write
        --allow-operate --metrics-insecure --metrics-peers --check-config --end-with-jobs
        --log-file --log-level'
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
complete -F _graphd graphd
