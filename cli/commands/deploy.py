"""`qsync deploy`: the files that run nodes elsewhere, printed."""

import click

from admin.deploy.catalogue import FILES, hidden_from_units
from cli.examples import examples
from cli.options import json_option
from cli.output import document, say, style, text


@click.command(
    epilog=examples(
        "qsync deploy systemd | sudo tee /etc/systemd/system/qsync@.service",
        "qsync deploy kubernetes > kubernetes.yaml",
    )
)
@click.argument("what", type=click.Choice([*FILES, "list"]), default="list", metavar="[FILE]")
@json_option
def deploy(*, what: str) -> None:
    """Print a file that runs nodes under systemd, in containers or on Kubernetes.

    FILE is systemd, container, compose or kubernetes, each beginning with the commands to use it;
    or bash, zsh or fish, completion for that shell. `list`, the default, says where each one goes.
    """
    if style().as_json:
        rows = [
            {"name": name, "about": each.about, "goes": each.goes, "text": each.text()}
            for name, each in FILES.items()
            if what in {name, "list"}
        ]
        document("deploy", files=rows)
        return
    if what != "list":
        text(FILES[what].text().rstrip("\n"))
        if what == "systemd" and (hidden := hidden_from_units()) is not None:
            say(
                f"such a node cannot start: its Python or qsync is in {hidden}, and the unit hides "
                "/home, /root and /run/user (ProtectHome); install both elsewhere "
                "(qsync help run-nodes)"
            )
        return
    for name, each in FILES.items():
        text(f"{name:<11} {each.about} -> {each.goes}")
