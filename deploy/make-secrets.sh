#!/bin/sh
# Write random secrets for docker-compose.yml into deploy/secrets. What is there stays: run it again after an
# upgrade that needs another one. Keep a copy of encryption_keys apart from the database.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets
cd secrets

hex() {
    head -c "$1" /dev/urandom | od -An -v -tx1 | tr -d ' \n'
}

put() {
    [ -e "$1" ] || {
        printf '%s' "$2" >"$1"
        chmod 444 "$1"
    }
}

put postgres_password "$(hex 24)"
put valkey_password "$(hex 24)"
put database_url "postgresql://heartbit:$(cat postgres_password)@database:5432/heartbit"
put redis_url "redis://:$(cat valkey_password)@valkey:6379/0"
put secret_key "$(hex 32)"
put encryption_keys "$(head -c 32 /dev/urandom | base64 | tr -d '\n')"
