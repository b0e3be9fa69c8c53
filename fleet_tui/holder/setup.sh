# Runs a project's setup commands in the agent's terminal, then execs the agent's program.
# $1: progress file; $2: number of commands; then the commands; then the program with its arguments.
# The program's arguments are passed on unchanged; no shell parses them.
progress=$1
count=$2
shift 2
number=1
while [ "$number" -le "$count" ]; do
  command=$1
  shift
  printf '\033[2m$ %s\033[0m\n' "$command"
  printf 'run %s\n' "$number" >>"$progress"
  sh -c "$command"
  code=$?
  if [ "$code" -ne 0 ]; then
    printf 'failed %s %s\n' "$number" "$code" >>"$progress"
    exit "$code"
  fi
  number=$((number + 1))
done
printf 'done\n' >>"$progress"
exec "$@"
