#!/bin/sh
# Starts the studio in the present folder, which must last. Settings come from the environment:
# KAPWA_ADDRESS           the address that people use, such as https://{host}
# KAPWA_STUDIO_SECRET     32 letters or more that nobody knows; without it a secret is made and kept in the folder
# KAPWA_STUDIO_DATABASE   postgresql://...; without it a file in the folder
# KAPWA_PROJECT, KAPWA_FORM, KAPWA_LANGUAGE   the first project, made where there is no studio yet
# PORT, LISTEN            where it listens
set -eu
umask 077
home=kapwa-studio
address="${KAPWA_ADDRESS:-https://{host}}"
mkdir -p "$home"
if [ -n "${KAPWA_STUDIO_SECRET:-}" ] && [ ! -f "$home/secret.key" ]; then
    printf '%s\n' "$KAPWA_STUDIO_SECRET" > "$home/secret.key"
fi
unset KAPWA_STUDIO_SECRET
if [ ! -f "$home/begun" ]; then
    # A start that was cut off here, or a database from outside, may have the project already: its coordinator then gets
    # another code. A code that was written is never written over by nothing.
    project="${KAPWA_PROJECT:-my-culture}"
    kapwa studio new "$project" --form "${KAPWA_FORM:-kalahi}" --language "${KAPWA_LANGUAGE:-en}" > "$home/code.new" ||
        kapwa studio invite "$project" --role coordinator --url "$address" > "$home/code.new"
    mv "$home/code.new" "$home/first-code.txt"
    touch "$home/begun"
    echo "The coordinator signs in with the code in $home/first-code.txt, which works once:"
    cat "$home/first-code.txt"
fi
exec kapwa studio serve --host "${LISTEN:-0.0.0.0}" --port "${PORT:-7860}" --url "$address" --behind-proxy
