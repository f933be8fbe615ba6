@echo off
rem Windows: double-click this file. The first time it installs Kapwa, which takes some minutes.
cd /d "%~dp0"
set "PATH=%USERPROFILE%\.local\bin;%PATH%"
where kapwa >nul 2>nul && goto installed
where uv >nul 2>nul || powershell -ExecutionPolicy ByPass -Command "irm https://astral.sh/uv/install.ps1 | iex"
uv tool install --python 3.12 "kapwa[studio]" || goto failed
:installed
echo Keep this window open while people work. Close it to stop the studio; nothing is lost.
kapwa studio serve --share --open
:failed
pause
