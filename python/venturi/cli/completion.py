"""`venturi completion`: shell completion of verbs, options and their values."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class

SHELLS = ("bash", "zsh", "fish")
_VALUES_MAX = 50
# Bash splits words at "=" and puts a space after a whole word; both would break KEY=VALUE.
_IN_BASH = """
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2> /dev/null
    fi

    return 0
}

COMP_WORDBREAKS=${COMP_WORDBREAKS//=}
"""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the completion script for bash, zsh or fish.

    \b
    bash  venturi completion bash > ~/.local/share/bash-completion/completions/venturi
    zsh   venturi completion zsh > "${fpath[1]}/_venturi"
    fish  venturi completion fish > ~/.config/fish/completions/venturi.fish

    It takes effect in the next shell.
    """
    root = click.get_current_context().find_root().command
    complete = get_completion_class(shell)
    assert complete is not None
    script = complete(root, {}, "venturi", "_VENTURI_COMPLETE").source()
    if shell == "bash":
        script = script.replace("\n    return 0\n}\n", _IN_BASH)
    click.echo(script)


def complete_condition(incomplete: str) -> list[CompletionItem]:
    """The keys, or the most frequent values of the key, that continue a condition of --where.

    Nothing without a repository: completion never creates or upgrades one.
    """
    from venturi.core import settings
    from venturi.core.errors import VenturiError
    from venturi.record.query.checks import require_keys
    from venturi.record.query.conditions import split_condition
    from venturi.record.query.faceting import facets
    from venturi.record.query.known_keys import keys
    from venturi.record.query.selection import Query
    from venturi.record.store.repository import TrialRepository
    from venturi.record.store.tables import text_of

    try:
        with TrialRepository.open(settings.load(), read_only=True) as repository:
            if "=" not in incomplete:
                offered = [f"{known.key}=" for known in keys(repository) if known.n]
            else:
                key, _, typed = split_condition(incomplete)
                (facet,) = facets(repository, Query(), require_keys(repository, (key,)))
                before = incomplete[: len(incomplete) - len(typed)]
                offered = [f"{before}{text_of(each.value)}" for each in facet.values[:_VALUES_MAX]]
    except VenturiError:
        return []
    return [CompletionItem(each) for each in offered if each.startswith(incomplete)]
