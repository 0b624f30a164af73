# The image holds one static program and the few files that it needs; `make image` builds them first (deploy/rootfs.sh).
FROM scratch
ADD bin/rootfs.tar /
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt TMPDIR=/tmp HOME=/var/lib/weir
WORKDIR /var/lib/weir
USER 65532:65532
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s CMD ["/processor", "health"]
ENTRYPOINT ["/processor"]
