"""Tables of programs that run other programs, and of the options that make them do so."""

from __future__ import annotations

import re

from fleet_tui.permissions.shell_words import word_set

SHELLS = word_set("sh bash zsh dash ksh mksh ash fish csh tcsh")
OPAQUE = word_set(
    "su ssh parallel watch script flock strace ltrace busybox toybox systemd-run at batch crontab chroot unshare "
    "nsenter runuser pkexec expect gdb lldb vim vi nvim ex view emacs ed entr tmux screen osascript awk gawk mawk "
    "nawk trap let mapfile readarray alias unalias hash enable bind complete ionice chrt taskset stdbuf unbuffer caffeinate rlwrap "
    "dbus-run-session xvfb-run start-stop-daemon daemonize socat setarch linux32 linux64 fakeroot proot bwrap "
    "firejail zargs autoload zmodload"
)
"""Programs that run their arguments in too many ways to follow."""
CODE_FLAGS = {
    "python": "c",
    "python2": "c",
    "python3": "c",
    "pypy3": "c",
    "perl": "eEnp",
    "ruby": "ernp",
    "node": "ep",
    "bun": "ep",
    "php": "rBRE",
    "lua": "e",
    "tclsh": "c",
    "Rscript": "e",
}
CODE_VALUED = {
    "python": "XW",
    "python3": "XW",
    "pypy3": "XW",
    "perl": "I",
    "ruby": "rIC",
    "node": "rC",
    "php": "dc",
}
"""Options of the same programs that take the next word as their value."""
CODE_WORDS = frozenset({"--eval", "--print", "--run", "eval", "-"})
RUNNING_FLAGS = {
    "tar": ("--to-command", "--checkpoint-action", "--use-compress-program", "--info-script", "--rsh-command", "--rmt-command", "--new-volume-script", "-I", "-F"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "docker": ("run", "exec"),
    "podman": ("run", "exec"),
    "kubectl": ("exec", "run"),
    "rg": ("--pre", "--hostname-bin"),
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "sort": ("--compress-program",),
    "man": ("-P", "--pager", "-H", "--html"),
    "less": ("+!",),
    "npx": ("-c", "--call"),
}  # fmt: skip
GIT_PLAIN = frozenset(
    {"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version", "--help"}
)
GIT_RUNNING = (
    "--exec", "--upload-pack", "--receive-pack", "--open-files-in-pager", "--ext-diff", "--textconv", "--output",
    "--config", "--template", "--extcmd", "--tool", "--gpg-sign", "--paginate", "--strategy", "--edit", "--run",
)  # fmt: skip
GIT_OPAQUE = word_set(
    "bisect submodule filter-branch config difftool mergetool for-each-repo maintenance daemon instaweb p4 svn "
    "send-email web--browse credential hook upload-pack receive-pack upload-archive fast-import sh-setup"
)
XARGS_ALONE, XARGS_VALUED = frozenset({"-0", "-r", "-t"}), frozenset({"-n", "-P", "-L", "-I", "-d"})
FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
FIND_WRITES = {"-delete": "rm", "-fprint": "tee", "-fprint0": "tee", "-fprintf": "tee", "-fls": "tee"}
SED_PLAIN = re.compile(r"[\d,$ ]*[pdq=]|s([/|#,@:])(?:(?!\1)[^\n\\])*\1(?:(?!\1)[^\n\\])*\1[gip\d]*")
