"""`--ca-dir` of the commands that make the only node of a new cluster."""

from pathlib import Path

import click

from cli.options import DIRECTORY_PATH

new_authority_option = click.option(
    "--ca-dir",
    type=DIRECTORY_PATH,
    help="The authority, ca.crt and ca.key, that certifies the new node and its administrator.",
)


def certified(directory: Path) -> str:
    """What the authority has made, in a sentence."""
    made = "node.crt, and root.crt for the user root"
    return f"{directory}/tls has certificates of the new cluster: {made}"
