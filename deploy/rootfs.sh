#!/usr/bin/env bash
# Packs what the image holds: the program, the certificates that sign the world's servers, a user that is not root, a
# temporary folder, and a folder of the user's own. An archive, since owners and modes must not depend on who builds it.
#
#   deploy/rootfs.sh PROGRAM ARCHIVE
set -euo pipefail
program=$1
archive=$2
uid=65532

certificates=
for file in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do
  if [ -f "$file" ]; then certificates=$file; break; fi
done
[ -n "$certificates" ] || { echo "no certificates on this machine: install ca-certificates" >&2; exit 1; }

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/etc/ssl/certs" "$root/tmp" "$root/var/lib/weir"
cp "$program" "$root/processor"
cp -L "$certificates" "$root/etc/ssl/certs/ca-certificates.crt"
echo "weir:x:$uid:$uid::/var/lib/weir:/sbin/nologin" > "$root/etc/passwd"
echo "weir:x:$uid:" > "$root/etc/group"
chmod 0755 "$root/processor" "$root/etc" "$root/etc/ssl" "$root/etc/ssl/certs" "$root/var" "$root/var/lib"
chmod 0644 "$root/etc/passwd" "$root/etc/group" "$root/etc/ssl/certs/ca-certificates.crt"
chmod 1777 "$root/tmp"
chmod 0750 "$root/var/lib/weir"

mkdir -p "$(dirname "$archive")"
tar -C "$root" --owner=0 --group=0 --numeric-owner --no-recursion -cf "$archive" \
  processor etc etc/passwd etc/group etc/ssl etc/ssl/certs etc/ssl/certs/ca-certificates.crt tmp var var/lib
tar -C "$root" --owner=$uid --group=$uid --numeric-owner --no-recursion -rf "$archive" var/lib/weir
