"""Chat templates in the manner of families that think, written for tests: none is a copy of a model's own."""

# A switch, an empty thought after the prompt where it is off, and one before the last answer of a conversation (Qwen3).
HYBRID = """{%- set ns = namespace(last=-1) -%}
{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set ns.last = loop.index0 -%}{%- endif -%}{%- endfor -%}
{%- for m in messages -%}
{%- if m.role == 'assistant' -%}
{%- set said = m.content.split('</think>')[-1].lstrip('\\n') -%}
{{- '<|im_start|>assistant\\n' -}}
{%- if loop.index0 > ns.last -%}{{- '<think>\\n\\n</think>\\n\\n' -}}{%- endif -%}
{{- said + '<|im_end|>\\n' -}}
{%- else -%}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' -}}{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}
{%- if enable_thinking is defined and enable_thinking is false -%}{{- '<think>\\n\\n</think>\\n\\n' -}}{%- endif -%}
{%- endif -%}"""

# No switch; the prompt opens a thought, and thoughts of earlier turns are taken out (DeepSeek-R1).
OPENING = """{%- for m in messages -%}
{%- if m.role == 'assistant' -%}{{- '<|im_start|>assistant\\n' + m.content.split('</think>')[-1] + '<|im_end|>' -}}
{%- else -%}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' -}}{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n<think>\\n' -}}{%- endif -%}"""

# As above, but nothing opens the thought: the model does so by itself (the first DeepSeek-R1).
HIDDEN = OPENING.replace("assistant\\n<think>\\n", "assistant\\n")

# A word in the question switches it off, and a line break stands between the empty thought and the answer (GLM).
WORDED = """{%- for m in messages -%}
{%- if m.role == 'assistant' -%}{{- '<|im_start|>assistant\\n<think></think>\\n' + m.content.strip() -}}
{%- else -%}{{- '<|im_start|>' + m.role + '\\n' + m.content -}}
{%- if m.role == 'user' and enable_thinking is defined and not enable_thinking -%}{{- '/nothink' -}}{%- endif -%}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}
{%- if enable_thinking is defined and not enable_thinking -%}{{- '<think></think>' -}}{%- endif -%}{%- endif -%}"""

# Levels and channels; an answer of a conversation stands in the channel "final" (gpt-oss).
CHANNELS = """{{- '<|start|>system<|message|>Reasoning: ' + (reasoning_effort or 'medium') + '<|end|>' -}}
{%- for m in messages -%}
{%- if m.role == 'assistant' -%}
{{- '<|start|>assistant<|channel|>final<|message|>' + m.content + ('<|return|>' if loop.last else '<|end|>') -}}
{%- else -%}{{- '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' -}}{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|start|>assistant' -}}{%- endif -%}"""

# Thinks only where it is asked to (DeepSeek V3.1).
ASKED = """{%- for m in messages -%}
{%- if m.role == 'assistant' -%}{{- '<|im_start|>assistant\\n</think>' + m.content + '<|im_end|>' -}}
{%- else -%}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' -}}{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|im_start|>assistant\\n' + ('<think>' if thinking else '</think>') -}}{%- endif -%}"""

# A prompt that opens a thought in brackets (Mistral), and one in other signs with a budget (Seed).
BRACKETS = OPENING.replace("<think>\\n", "[THINK]").replace("</think>", "[/THINK]")
BUDGETED = """{%- for m in messages -%}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' -}}{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|im_start|>system\\nYou may think for ' ~ (thinking_budget or 'many') ~ ' tokens<|im_end|>' -}}
{{- '<|im_start|>assistant\\n<seed:think>' -}}{%- endif -%}"""
