"""Certificates of the farm's hosts, good and bad, made as they are needed."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Kind: TypeAlias = Literal["good", "expired", "other_name", "self_signed"]


class Authority:
    """Signs certificates; `trust` is the context of a client that believes it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = self._signed("the farm's authority", self._key, self._key, None, is_authority=True)
        self.file = folder / "authority.pem"
        self.file.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.file))

    def server(self, host: str, kind: Kind) -> ssl.SSLContext:
        """The context of a server whose certificate is of this kind."""
        key = ec.generate_private_key(ec.SECP256R1())
        named = "elsewhere.example" if kind == "other_name" else host
        signer, issuer = (key, None) if kind == "self_signed" else (self._key, self._certificate)
        certificate = self._signed(named, key, signer, issuer, is_expired=kind == "expired")
        file = self._folder / f"{host}.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _signed(
        self,
        name: str,
        key: ec.EllipticCurvePrivateKey,
        signer: ec.EllipticCurvePrivateKey,
        issuer: x509.Certificate | None,
        *,
        is_authority: bool = False,
        is_expired: bool = False,
    ) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.now(UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer.subject if issuer else subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=30))
            .not_valid_after(now + timedelta(days=-1 if is_expired else 30))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        if issuer is not None:
            signed_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
            made = made.add_extension(signed_by, critical=False)
        if is_authority:
            uses = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
            made = made.add_extension(uses, critical=True)
        else:
            made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        return made.sign(signer, hashes.SHA256())
