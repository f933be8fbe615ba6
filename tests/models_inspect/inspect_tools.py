"""What the tests of ``inspect:`` models share."""

# A provider of Inspect for OpenAI-compatible servers; its key is read from STUB_API_KEY.
NAME = "openai-api/stub/stub"
KEY = "sk-inspect-canary/7d2e+91-never-show"
