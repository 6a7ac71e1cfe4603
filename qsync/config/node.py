"""The whole configuration of a node: read, checked, explained, and written out again."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Self, TypeVar

from qsync.config import secret, sections
from qsync.config.aliases import ALIASES
from qsync.config.checks import address_among_peers, inconsistencies, own_place
from qsync.config.kinds import ADDRESS, ADDRESS_OR_NONE, FLAG, Address, OptionDescription, option
from qsync.config.secret import NO_SECRET, Secret
from qsync.config.source import Setting, SettingsReader, general
from qsync.config.text import render
from qsync.config.yaml_file import Problem, SettingOrigin, refusal
from qsync.default_port import DEFAULT_ADDRESS

T = TypeVar("T")

_SECTIONS: dict[str, type] = {
    "node": sections.NodeSection,
    "cluster": sections.ClusterSection,
    "election": sections.ElectionSection,
    "replication": sections.ReplicationSection,
    "store": sections.StoreSection,
    "limits": sections.LimitsSection,
    "log": sections.LogSection,
    "metrics": sections.MetricsSection,
    "tls": sections.TlsSection,
    "audit": sections.AuditSection,
}
_PEER = "peers.*."
_SECRET, _SECRET_FILE = "cluster.secret", "cluster.secret_file"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    """How one node is set up. Frozen: a changed configuration is a new one."""

    node: sections.NodeSection = field(default_factory=sections.NodeSection)
    cluster: sections.ClusterSection = field(default_factory=sections.ClusterSection)
    listen: Address = option(
        ADDRESS,
        DEFAULT_ADDRESS,
        "where it listens, of a name at all its addresses; if left out, at its own address "
        "among the peers",
    )
    advertise: Address | None = option(
        ADDRESS_OR_NONE, "", "where others reach it, if that is not where it listens"
    )
    peers: tuple[sections.PeerConfig, ...] = ()
    """All members of the replica set, this node included; it alone when none are given."""
    election: sections.ElectionSection = field(default_factory=sections.ElectionSection)
    replication: sections.ReplicationSection = field(default_factory=sections.ReplicationSection)
    store: sections.StoreSection = field(default_factory=sections.StoreSection)
    limits: sections.LimitsSection = field(default_factory=sections.LimitsSection)
    log: sections.LogSection = field(default_factory=sections.LogSection)
    metrics: sections.MetricsSection = field(default_factory=sections.MetricsSection)
    tls: sections.TlsSection = field(default_factory=sections.TlsSection)
    audit: sections.AuditSection = field(default_factory=sections.AuditSection)
    insecure: bool = option(
        FLAG, "false", "true allows a public address without TLS: anyone who connects is served"
    )
    secret: Secret = field(default=NO_SECRET, compare=False, repr=False)
    """The cluster's secret, from the configuration or its file."""
    places: Mapping[str, SettingOrigin] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.peers:
            alone = sections.PeerConfig(id=self.node.id, name=self.node.name, address=self.address)
            object.__setattr__(self, "peers", (alone,))
        if self.cluster.secret:
            object.__setattr__(self, "secret", self.cluster.secret)

    @classmethod
    def load(
        cls,
        path: Path | None = None,
        env: Mapping[str, str] | None = None,
        flags: Mapping[str, str] | None = None,
    ) -> Self:
        """Read the file, then variables (`os.environ` by default), then flags (dotted keys).

        Raises ConfigError naming every problem by place, option, value and reason.
        """
        reader = SettingsReader(known=_OPTIONS)
        if path is not None:
            reader.file(path)
        reader.environment(os.environ if env is None else env)
        reader.flags(flags or {})
        return cls._build(reader, path)

    @classmethod
    def loads(cls, text: str, *, where: str = "text") -> Self:
        """Read YAML text alone."""
        reader = SettingsReader(known=_OPTIONS)
        reader.text(text, where=where)
        return cls._build(reader, None)

    @classmethod
    def template(cls, values: Mapping[str, str] | None = None) -> str:
        """A commented YAML file: `values` (dotted keys) are set, all else shows its default."""
        return cls.draft(values or {}).to_yaml()

    @classmethod
    def draft(cls, values: Mapping[str, str], *, peers: Sequence[sections.PeerConfig] = ()) -> Self:
        """What a file with these values (dotted keys) and peers will say. No node runs by a draft.

        A file of a secret is not read: its name is relative to where the draft will be written.
        """
        reader = SettingsReader(known=_OPTIONS)
        reader.flags(values)
        return cls._build(reader, None, drafted=True, peers=peers)

    @classmethod
    def schema(cls) -> dict[str, object]:
        """A JSON schema of the file, for editors."""
        return _schema()

    @property
    def address(self) -> Address:
        """Where others reach this node."""
        return self.advertise or self.listen

    @property
    def members(self) -> tuple[sections.PeerConfig, ...]:
        """The peers, by id."""
        return tuple(sorted(self.peers, key=lambda peer: peer.id))

    def origin(self, key: str) -> str:
        """The source of the value of a dotted key, or "default". Raises KeyError if unknown."""
        if key != "peers" and key not in self.values():
            raise KeyError(key)
        place = self.places.get(key) or (own_place(self) if key == "listen" else None)
        return "default" if place is None else str(place)

    def values(self) -> dict[str, str]:
        """Every option as text, by dotted key; members as `peers.0.id` and so on. No secrets."""
        shown: dict[str, str] = {}
        for key, described in _OPTIONS.items():
            if not key.startswith(_PEER):
                shown[key] = described.kind.show(_value(self, key))
        for number, peer in enumerate(self.peers if "peers" in self.places else ()):
            for item in fields(peer):
                described = _OPTIONS[_PEER + item.name]
                shown[f"peers.{number}.{item.name}"] = described.kind.show(getattr(peer, item.name))
        return shown

    @staticmethod
    def about() -> dict[str, str]:
        """The purpose of every option, by dotted key; a member's as `peers.*.id` and so on."""
        return {key: described.about for key, described in _OPTIONS.items()}

    def to_yaml(self) -> str:
        """The commented file that reads back as this configuration."""
        about = self.about()
        heads = {name: section.__doc__ or "" for name, section in _SECTIONS.items()}
        values = self.values() | {_SECRET: self.cluster.secret.text}
        return render(values, live=set(self.places), about=about, heads=heads)

    @classmethod
    def _build(
        cls,
        reader: SettingsReader,
        path: Path | None,
        *,
        drafted: bool = False,
        peers: Sequence[sections.PeerConfig] = (),
    ) -> Self:
        parsed: dict[str, object] = {}
        for setting in reader.settings.values():
            described = _OPTIONS[general(setting.key)]
            try:
                parsed[setting.key] = described.kind.parse(setting.text)
            except ValueError as error:
                reader.problems.append(_complaint(setting, described, str(error)))
        reader.problems += _incomplete(reader.settings.values())
        if reader.problems:
            raise refusal(reader.problems)
        places = {setting.key: setting.place for setting in reader.settings.values()}
        peer_places = [place for key, place in places.items() if key.startswith("peers.")]
        if peer_places:
            places["peers"] = peer_places[0]
        if path is not None:
            _from_file(parsed, places, path)
        _keep_last_secret(parsed, places)
        secret = NO_SECRET if drafted else _secret(parsed, places, reader.problems, path)
        if reader.problems:
            raise refusal(reader.problems)
        arguments = _arguments(parsed)
        if peers:
            arguments["peers"] = tuple(peers)
        made = _make(cls, {"places": places, "secret": secret, **arguments})
        if "listen" not in places and own_place(made) is not None:
            # A node whose advertised address is not its listening address cannot be reached.
            made = replace(made, listen=address_among_peers(made))
        wrong = inconsistencies(made, places)
        if wrong:
            raise refusal(wrong)
        return made


def _from_file(parsed: dict[str, object], places: Mapping[str, SettingOrigin], path: Path) -> None:
    """Resolve a path relative to its file, so that a node's directory can be moved."""
    for key in ("node.dir", "tls.certificate", "tls.key", "tls.ca", "metrics.token_file"):
        written = parsed.get(key, Path() if key == "node.dir" else None)
        if written is not None and places.get(key, SettingOrigin(str(path))).where == str(path):
            assert isinstance(written, Path)
            parsed[key] = path.parent / written


def _keep_last_secret(parsed: dict[str, object], places: dict[str, SettingOrigin]) -> None:
    """Of its two spellings the later source counts, as for two values of one option."""
    named = [key for key in places if key in {_SECRET, _SECRET_FILE} and parsed[key]]
    if len({places[key].source for key in named}) > 1:
        del parsed[named[0]], places[named[0]]


def _secret(
    parsed: Mapping[str, object],
    places: Mapping[str, SettingOrigin],
    problems: list[Problem],
    path: Path | None,
) -> Secret:
    """Return the cluster's secret, from the configuration or its file."""
    given, file = parsed.get(_SECRET), parsed.get(_SECRET_FILE)
    if not isinstance(file, Path):
        return given if isinstance(given, Secret) else NO_SECRET
    place = places[_SECRET_FILE]
    written = file
    if path is not None and place.where == str(path):
        file = path.parent / file
    reason = "is given beside cluster.secret; one of them is enough" if given else ""
    try:
        found = secret.read(file)
    except ValueError as error:
        found, reason = NO_SECRET, reason or str(error)
    if reason:
        problems.append(Problem(place=place, key=_SECRET_FILE, value=str(written), reason=reason))
    return found


def _make(maker: Callable[..., T], values: Mapping[str, object]) -> T:
    return maker(**values)


def _arguments(parsed: Mapping[str, object]) -> dict[str, object]:
    """The constructor's arguments: sections and members built from dotted keys."""
    plain = {key: value for key, value in parsed.items() if "." not in key}
    for name, section in _SECTIONS.items():
        start = name + "."
        own = {key[len(start) :]: value for key, value in parsed.items() if key.startswith(start)}
        plain[name] = _make(section, own)
    members: dict[int, dict[str, object]] = {}
    for key, value in parsed.items():
        if key.startswith("peers."):
            _, number, item = key.split(".")
            members.setdefault(int(number), {})[item] = value
    plain["peers"] = tuple(_make(sections.PeerConfig, member) for member in members.values())
    return plain


def _value(config: NodeConfig, key: str) -> object:
    found: object = config
    for part in key.split("."):
        found = getattr(found, part)
    return found


def _complaint(setting: Setting, described: OptionDescription, reason: str) -> Problem:
    return Problem(
        place=setting.place,
        key=setting.key,
        value=None if setting.key == _SECRET else setting.text,
        reason=reason,
        suggestion=described.kind.suggest(setting.text),
    )


def _incomplete(settings: Iterable[Setting]) -> Iterator[Problem]:
    """Report members that lack a part, because no part has a default."""
    given = {setting.key: setting.place for setting in settings if setting.key.startswith("peers.")}
    for number in dict.fromkeys(key.split(".")[1] for key in given):
        place = next(place for key, place in given.items() if key.split(".")[1] == number)
        for item in fields(sections.PeerConfig):
            key = f"peers.{number}.{item.name}"
            if key not in given and item.default is not None:
                yield Problem(place=place, key=key, value=None, reason="is missing")


def _walk() -> Iterator[tuple[str, OptionDescription]]:
    """Every option in the order of the file."""
    for item in fields(NodeConfig):
        if item.name in _SECTIONS:
            for inner in fields(_SECTIONS[item.name]):
                yield f"{item.name}.{inner.name}", inner.metadata["option"]
        elif item.name == "peers":
            for inner in fields(sections.PeerConfig):
                yield _PEER + inner.name, inner.metadata["option"]
        elif "option" in item.metadata:
            yield item.name, item.metadata["option"]


_OPTIONS: dict[str, OptionDescription] = dict(_walk())


def _schema() -> dict[str, object]:
    properties: dict[str, object] = {}
    for name, section in _SECTIONS.items():
        own = {inner.name: _described(f"{name}.{inner.name}") for inner in fields(section)}
        properties[name] = _object(own | _aliases(name), about=section.__doc__ or "")
    peer = {inner.name: _described(_PEER + inner.name) for inner in fields(sections.PeerConfig)}
    properties["peers"] = {"type": "array", "items": _object(peer, about="One member.")}
    for key in _OPTIONS:
        if "." not in key:
            properties[key] = _described(key)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "qsync node",
        **_object(properties | _aliases(""), about="Configuration of one node."),
    }


def _aliases(section: str) -> dict[str, object]:
    """Return Tarantool's names of options that a section accepts."""
    split = [(name.rpartition("."), key) for name, key in ALIASES.items()]
    return {
        option: {**_described(key), "description": f"Tarantool's name of {key}"}
        for (where, _, option), key in split
        if where == section
    }


def _object(properties: Mapping[str, object], *, about: str) -> dict[str, object]:
    # An empty section is written by commenting all its options out.
    return {
        "type": ["object", "null"],
        "description": about,
        "additionalProperties": False,
        "properties": properties,
    }


def _described(key: str) -> dict[str, object]:
    described = _OPTIONS[key]
    return {**described.kind.schema, "description": described.about}
