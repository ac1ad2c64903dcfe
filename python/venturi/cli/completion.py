"""`venturi completion`: shell completion of verbs, options and their values."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


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
    click.echo(complete(root, {}, "venturi", "_VENTURI_COMPLETE").source())
