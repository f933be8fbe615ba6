#!/bin/sh
# Writes every project into the folder backups beside this file, and deletes what is older than 30 days.
# Copy the folder to another machine: what lies on one disk is lost with it.
set -eu
cd "$(dirname "$0")"
if [ -f compose.yaml ] && command -v docker > /dev/null; then
    docker compose exec -T studio kapwa studio backup --output backups --keep 30
    exec docker compose cp studio:/data/backups .
fi
exec kapwa studio backup --home "${KAPWA_STUDIO_HOME:-/srv/studio}" --output backups --keep 30
