"""Print the completion scripts of the shells: click's own, with four differences.

Values of --agents contain colons and commas. Bash splits words at colons, so its script joins what no space separates and
completes the part after the last colon. Bash alone does not quote what it completes, and a branch's name may contain a
command, so its script does. The script for fish splits an answer of click at its first comma only. In zsh and fish, an
answer replaces the word that is typed, so their scripts put the option of --base=REF back before its value.
"""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from fleet_tui.errors import UsageError

_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' line="${COMP_LINE:0:COMP_POINT}" words=() i word completion type value done=""
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i > 0)) && [[ $line != [[:space:]]* ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        line=${line#"${line%%%%[![:space:]]*}"}
        line=${line#"$word"}
    done
    word=${words[${#words[@]}-1]}
    [[ $word == --*=* ]] && word=${word#*=}
    [[ $COMP_WORDBREAKS == *:* && $word == *:* ]] && done=${word%%:*}:
    while read -r completion; do
        type=${completion%%%%,*} value=${completion#*,}
        case $type in
            dir) COMPREPLY=(); compopt -o dirnames ;;
            file) COMPREPLY=(); compopt -o default ;;
            plain)
                value=${value#"$done"}
                [[ $value == *[!a-zA-Z0-9_@%%+=:,./-]* ]] && printf -v value %%q "$value"
                COMPREPLY+=("$value") ;;
        esac
    done < <(env COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1)) %(complete_var)s=bash_complete "$1")
    return 0
}

%(complete_func)s_setup() {
    complete -o nosort -F %(complete_func)s %(prog_name)s
}

%(complete_func)s_setup;
"""


class _Bash(BashComplete):
    source_template = _BASH


class _Zsh(ZshComplete):
    source_template = (
        ZshComplete.source_template.replace(
            "local -a completions\n",
            'local -a completions\n    local option="${(M)words[CURRENT]#--*=}"\n',
        )
        .replace("completions_with_descriptions -U", 'completions_with_descriptions -U -P "$option"')
        .replace("compadd -U", 'compadd -U -P "$option"')
    )


class _Fish(FishComplete):
    source_template = (
        FishComplete.source_template.replace('split ","', 'split --max 1 ","')
        .replace(
            "for completion in",
            "set -l option (string match --regex -- '^--[^=]+=' (commandline -t))\n    for completion in",
        )
        .replace("echo $metadata[2]", 'echo "$option$metadata[2]"')
    )


def script(command: click.Command, shell: str, name: str) -> str:
    """The completion script of a shell for a program of this name."""
    kinds: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}
    if shell not in kinds:
        raise UsageError(f"no completion for {shell}", hint="choose bash, zsh or fish")
    return kinds[shell](command, {}, name, f"_{name.upper()}_COMPLETE").source()
