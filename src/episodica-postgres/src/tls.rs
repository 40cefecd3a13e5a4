//! Encrypted connections, by the same rustls that is used for model endpoints.

use std::sync::Arc;

use episodica_core::{Error, ErrorKind, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::TlsTrust;

/// Encrypts connections; a Unix socket is never encrypted.
///
/// # Errors
/// `Config` for unreadable root certificates.
pub(crate) fn tls_connector(trust: &TlsTrust) -> Result<MakeRustlsConnect> {
    let fail =
        |text: &str, cause: String| Error::new(ErrorKind::Config, text.to_owned()).caused_by(cause);
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| fail("no version of TLS is available", error.to_string()))?;
    let config = match trust {
        TlsTrust::Anyone => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(UncheckedCertificate(provider)))
            .with_no_client_auth(),
        TlsTrust::System => builder
            .with_platform_verifier()
            .map_err(|error| fail("the system's certificates can't be read", error.to_string()))?
            .with_no_client_auth(),
        TlsTrust::File(path) => {
            let unreadable =
                |cause: String| fail("sslrootcert can't be read", cause).at_path(path, None);
            let mut roots = RootCertStore::empty();
            let found = CertificateDer::pem_file_iter(path)
                .map_err(|error| unreadable(error.to_string()))?;
            for certificate in found {
                let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
                roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

/// Accepts any certificate, as libpq does by default.
#[derive(Debug)]
struct UncheckedCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for UncheckedCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
