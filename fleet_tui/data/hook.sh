#!/bin/sh
# Hands one event of an agent's program to the agent's holder. Ends well whatever happens: the program waits for it.
# With "decide" it then waits for a decision and prints it; without one it prints nothing, and the program asks.

folder=${FLEET_FOLDER:-/nowhere}/hooks
# Who writes to a hook that does not read may be hurt by that.
[ -p "$folder/bell" ] || { cat >/dev/null; exit 0; }
umask 077
event=$folder/$$

[ "$1" != decide ] || mkfifo "$event.verdict" 2>/dev/null || { cat >/dev/null; exit 0; }
cat >"$event.part" 2>/dev/null && mv "$event.part" "$event.json" 2>/dev/null || exit 0
# Opened for both directions, which does not wait for a reader: the holder may be gone.
echo 1<>"$folder/bell" 2>/dev/null
[ "$1" = decide ] || exit 0

# Set before there is a reader, whose number may not be kept yet when a signal comes. The pipe goes first: a reader that
# is too young to be ended by a signal does not find it, and one that waits at it is old enough.
trap 'rm -f "$event.verdict" "$event.open" "$event.json"; kill $reader $guard $! 2>/dev/null; exit 0' HUP INT TERM
# In the background, for a signal is only heard while nothing runs in the foreground.
cat "$event.verdict" 2>/dev/null &
reader=$!
# Should the program or the holder end meanwhile, nobody else would let go of the pipe.
(
  trap 'kill "$nap"; exit 0' TERM
  while kill -0 "$PPID" && [ -p "$folder/bell" ] && [ -p "$event.verdict" ]; do
    sleep 2 &
    nap=$!
    wait "$nap"
  done
  [ ! -p "$event.verdict" ] || echo >>"$event.verdict"
) </dev/null >/dev/null 2>&1 &
guard=$!
wait "$reader"
kill "$guard" 2>/dev/null
rm -f "$event.verdict" 2>/dev/null
exit 0
