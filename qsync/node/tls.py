"""TLS of a node: its certificate, the authorities it trusts, and the roles of connections.

A certificate names a node or a user of one cluster (`qsync.tls.names`). Peers show theirs to each
other, and each side compares it with the other's hello and with the configuration in the log. The
user that a client's certificate names is kept on the connection (`Connection.identity`) for checks
of rights.
"""

import ssl
from collections.abc import Callable
from typing import Final

from qsync.config import NodeConfig
from qsync.config.sections import ClientCertificates, TlsSection
from qsync.config.yaml_file import Problem, SettingOrigin, refusal
from qsync.errors import AccessDenied, ConfigError, ForeignCluster
from qsync.status.tls import TlsStatus
from qsync.tls import files
from qsync.tls.channel import HandshakePace, TlsSocket
from qsync.tls.files import CertificateFacts, TlsFiles
from qsync.tls.names import Bearer, CertifiedName
from qsync.tls.plain import StreamSocket
from qsync.wire.session import Hello, Party

_HOW: Final = "`qsync cert node` makes another one; `qsync cert check` judges what is there"


NO_TLS: Final = TlsStatus()


class NodeTls:
    """The node's certificate and the authorities it trusts, as the files were last read.

    Running connections stay as they were begun. Raises ConfigError, with its place, when the files
    cannot be used at the start; later what was read before stays in use, and `error` says why.
    """

    def __init__(self, config: NodeConfig, *, wall: Callable[[], float]) -> None:
        self._config = config
        self._wall = wall
        self.files = files_of(config.tls)
        self._pace = HandshakePace()
        self.error: str | None = None
        """Why files that changed are not in use."""
        self._read()

    def _read(self) -> None:
        self._state = self.files.state()
        self.facts = check(self._config, self._wall())
        self._acceptor = files.acceptor(self.files, demand=self.demands)
        self._dialer = files.dialer(self.files, check_host=False)
        self._ca_expires = files.authorities_expire(self._dialer)
        self._authorities = files.authorities(self._dialer)
        self._anonymous = files.acceptor(self.files, demand=False)
        self._anonymous.verify_mode = ssl.CERT_NONE

    def look(self, *, always: bool = False) -> dict[str, object] | None:
        """Read the files again if one of them is another, or `always`; what came of it, as news."""
        if not always and self.files.state() == self._state:
            return None
        try:
            self._read()
        except ConfigError as error:
            self.error = error.message
            return {"error": error.message}
        self.error = None
        return {"serial": self.facts.serial, "expires": self.facts.expires}

    @property
    def demands(self) -> bool:
        """Whether a client or peer must show a certificate."""
        return self._config.tls.clients is ClientCertificates.REQUIRED

    @property
    def anonymous(self) -> ssl.SSLContext:
        """For who need show nothing: agents that read metrics."""
        return self._anonymous

    def status(self) -> TlsStatus:
        """What is in use now, and for how long."""
        now = self._wall()
        return TlsStatus(
            on=True,
            serial=self.facts.serial,
            expires=self.facts.expires,
            left=self.facts.expires - now,
            ca_left=self._ca_expires - now,
            authorities=self._authorities,
            error=self.error,
        )

    def accepted(self, sock: StreamSocket) -> TlsSocket:
        """A peer or client dialled us."""
        return TlsSocket(sock, self._acceptor, accepted=True, pace=self._pace)

    def dialled(self, sock: StreamSocket, peer: str) -> TlsSocket:
        """We dialled the member called `peer`. Raises TlsFailed and OSError."""
        made = TlsSocket.dialled(sock, self._dialer)
        made.secured = lambda found: check_member(found.identity, self._config.cluster.id, peer)
        return made


def tls_status(tls: NodeTls | None) -> TlsStatus:
    """The status of a node, with or without TLS."""
    return NO_TLS if tls is None else tls.status()


def opened(config: NodeConfig, wall: Callable[[], float]) -> NodeTls | None:
    """The TLS of a configuration; None if it is off. Raises ConfigError."""
    return NodeTls(config, wall=wall) if config.tls.on else None


def files_of(section: TlsSection) -> TlsFiles:
    """The files that a section names; TLS is on."""
    assert section.ca is not None
    return TlsFiles(ca=section.ca, certificate=section.certificate, key=section.key)


def check(config: NodeConfig, now: float) -> CertificateFacts:
    """The node's own certificate, which is right in every way. Raises ConfigError with places."""
    try:
        found = files.facts(files_of(config.tls))
    except ConfigError as error:
        raise _refused(config, _option(config, error), error.message) from None
    why = _unfit(found, config, now)
    if why is not None:
        raise _refused(config, "tls.certificate", f"{why}; {_HOW}")
    return found


def check_stranger(name: CertifiedName | None, cluster: str, *, demand: bool = True) -> None:
    """Check the certificate of a new connection, before its hello.

    Raises ForeignCluster, and AccessDenied where one is demanded and names nobody: an authority may
    sign others for other ends. Without a certificate it may be a client, where clients need none.
    """
    if name is None and demand:
        raise AccessDenied(
            "the certificate names no node and no user of a cluster",
            hint="one URI of qsync:// among its names says whose it is: `qsync cert client`",
        )
    if name is not None and name.cluster != cluster:
        raise ForeignCluster(f"the certificate is of cluster {name.cluster}, this is {cluster}")


def check_hello(name: CertifiedName | None, hello: Hello) -> None:
    """May the bearer of that certificate be what it says it is? Raises AccessDenied."""
    if hello.party is Party.CLIENT:
        if name is not None and name.bearer is Bearer.NODE:
            raise AccessDenied(
                f"the certificate is of {name}: a node's opens no session of a client",
                hint="`qsync cert client` makes one for a user",
            )
    elif name is None or name.bearer is not Bearer.NODE:
        shown = "no certificate" if name is None else f"the certificate of {name}"
        raise AccessDenied(f"{hello.name} shows {shown}: a peer shows that of a node")
    elif name.name != hello.name:
        raise AccessDenied(f"{hello.name} shows the certificate of {name}")


def check_member(name: CertifiedName | None, cluster: str, member: str) -> None:
    """Check that the dialled member answers. Raises ForeignCluster and AccessDenied."""
    if name is None:
        raise AccessDenied(
            f"where {member} was dialled, the certificate names no node of a cluster"
        )
    if name.bearer is Bearer.NODE and name.cluster != cluster:
        # What it would say of its ancestors is not heard: TLS ends before that.
        raise ForeignCluster(
            f"where {member} was dialled, {name.name} answers, by its certificate of cluster "
            f"{name.cluster}, and this is {cluster}: if `qsync recover` made that one of this, "
            "this node is superseded and has to be stopped"
        )
    check_stranger(name, cluster)
    if name.bearer is not Bearer.NODE or name.name != member:
        raise AccessDenied(f"where {member} was dialled, {name} answers, by its certificate")


def _unfit(found: CertificateFacts, config: NodeConfig, now: float) -> str | None:
    name = found.name
    if name is None:
        return "names no node of a cluster (a URI of qsync:// among its names)"
    if name.bearer is not Bearer.NODE or name.name != config.node.name:
        return f"is of {name}, and this is node {config.node.name}"
    if name.cluster != config.cluster.id:
        return f"is of cluster {name.cluster}, and cluster.id is {config.cluster.id}"
    return files.out_of_date(found, now)


def _option(config: NodeConfig, error: ConfigError) -> str:
    """Which option names the file that is wrong."""
    wrong, tls = error.details.get("file"), config.tls
    known = {str(tls.ca): "tls.ca", str(tls.key): "tls.key"}
    return known.get(str(wrong), "tls.certificate")


def _refused(config: NodeConfig, key: str, reason: str) -> ConfigError:
    place = config.places.get(key, SettingOrigin("default"))
    return refusal([Problem(place=place, key=key, value=config.values()[key], reason=reason)])
