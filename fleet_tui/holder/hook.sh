#!/bin/sh
# Hands one event of an agent's program to its holder. Always exits with 0, as the program waits for it.
# With "decide" it waits for a decision and prints it; if none is made it prints nothing, and the program asks the user.

folder=${FLEET_FOLDER:-/nowhere}/hooks
# Read the input even without a holder: a program may fail when its hook does not read.
[ -p "$folder/bell" ] || { cat >/dev/null; exit 0; }
umask 077
event=$folder/$$

[ "$1" != decide ] || mkfifo "$event.decision" 2>/dev/null || { cat >/dev/null; exit 0; }
cat >"$event.part" 2>/dev/null && mv "$event.part" "$event.json" 2>/dev/null || exit 0
# Opened for reading and writing, which does not block when the holder is gone.
echo 1<>"$folder/bell" 2>/dev/null
[ "$1" = decide ] || exit 0

# Set before the reader starts, whose pid may not be stored yet when a signal arrives. The pipe is removed first: a reader
# too young to be killed does not find it, and one that waits on it is old enough.
trap 'rm -f "$event.decision" "$event.open" "$event.json"; kill $reader $guard $! 2>/dev/null; exit 0' HUP INT TERM
# In the background, as traps run only while no command is in the foreground.
cat "$event.decision" 2>/dev/null &
reader=$!
# Releases the reader if the program or the holder ends meanwhile.
(
  trap 'kill "$nap"; exit 0' TERM
  while kill -0 "$PPID" && [ -p "$folder/bell" ] && [ -p "$event.decision" ]; do
    sleep 2 &
    nap=$!
    wait "$nap"
  done
  [ ! -p "$event.decision" ] || echo >>"$event.decision"
) </dev/null >/dev/null 2>&1 &
guard=$!
wait "$reader"
kill "$guard" 2>/dev/null
rm -f "$event.decision" 2>/dev/null
exit 0
