"""Scripts that complete the command line in a shell, made from the parser."""

import argparse

from locallin.cli._methods import METHODS
from locallin.cli._parser import FITTING, make_parser


def _commands() -> dict[str, tuple[str, dict[str, list[str]]]]:
    """Help, and options with the words they take, of every command."""
    found: dict[str, tuple[str, dict[str, list[str]]]] = {}
    for method in METHODS:
        parser = make_parser(method)
        group = next(
            action
            for action in parser._actions
            if isinstance(action, argparse._SubParsersAction)
        )
        helps = {choice.dest: choice.help for choice in group._choices_actions}
        for name, command in group.choices.items():
            if name not in FITTING and name in found:
                continue
            _, options = found.setdefault(name, (helps[name], {}))
            for action in command._actions:
                words = list(map(str, action.choices or ()))
                for flag in action.option_strings or [""] * bool(words):
                    known = options.setdefault(flag, [])
                    known += [word for word in words if word not in known]
    return found


def script(shell: str) -> str:
    """The script for bash, zsh or fish."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](_commands())


def _bash(commands) -> str:
    lines = [
        "_locallin() {",
        '    local current="${COMP_WORDS[COMP_CWORD]}"',
        '    local previous="${COMP_WORDS[COMP_CWORD-1]}"',
        "    COMPREPLY=()",
        "    if [ $COMP_CWORD -eq 1 ]; then",
        f'        COMPREPLY=($(compgen -W "{" ".join(commands)}" -- "$current"))',
        "        return",
        "    fi",
        '    case "${COMP_WORDS[1]} $previous" in',
    ]
    for name, (_, options) in commands.items():
        for flag, words in options.items():
            if flag and words:
                lines.append(f'        "{name} {flag}")')
                lines.append(_bash_reply(words, 12))
                lines.append("            return;;")
    lines += ["    esac", '    case "${COMP_WORDS[1]}" in']
    for name, (_, options) in commands.items():
        words = [flag for flag in options if flag] + options.get("", [])
        lines += [f"        {name})", _bash_reply(words, 12) + ";;"]
    lines += [
        "    esac",
        "}",
        "complete -o default -F _locallin locallin",
    ]
    return "\n".join(lines)


def _bash_reply(words, indent) -> str:
    return " " * indent + f'COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$current"))'


def _zsh(commands) -> str:
    return "\n".join(
        [
            "#compdef locallin",
            "autoload -U +X bashcompinit && bashcompinit",
            _bash(commands),
        ]
    )


def _fish(commands) -> str:
    lines = []
    for name, (help, options) in commands.items():
        lines.append(
            "complete -c locallin -n __fish_use_subcommand -f "
            f"-a {name} -d {_quoted(help)}"
        )
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        for flag, words in options.items():
            option = ""
            if flag.startswith("--"):
                option = f" -l {flag[2:]}"
            elif flag:
                option = f" -s {flag[1:]}"
            values = f" -x -a {_quoted(' '.join(words))}" if words else ""
            lines.append(f"complete -c locallin {seen}{option}{values}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"
