"""Fields that the forms of several pages have: texts that people type, and what is wrong with a field, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from django import forms
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy
from django.utils.translation import gettext_noop as _n

from kapwa.errors import KapwaError
from kapwa.studio.core.languages import checked_tag
from kapwa.studio.core.posted import PageForm
from kapwa.studio.core.text import LONGEST, tidy, tidy_line
from kapwa.value_types import JsonObject

# What Django says of a field, in the languages in which it cannot, such as Amharic.
_OF_DJANGO = (
    _n("This field is required."),
    _n("Enter a whole number."),
    _n("Ensure this value is less than or equal to %(limit_value)s."),
    _n("Ensure this value is greater than or equal to %(limit_value)s."),
    _n("Select a valid choice. %(value)s is not one of the available choices."),
    _n("Enter a valid email address."),
)
Made = TypeVar("Made")


def told(wrong: str, remedy: str) -> Promise:
    """Return what is wrong and what to do, both in English, as a text in the language of whoever reads it."""
    return format_lazy("{} {}", gettext_lazy(wrong), gettext_lazy(remedy))


def checked(check: Callable[..., Made], *arguments: object) -> Made:
    """Return what ``check`` makes of what was typed; what it refuses is an error of the form's field."""
    try:
        return check(*arguments)
    except KapwaError as error:
        raise forms.ValidationError(str(error)) from None


class TypedField(forms.CharField):
    """A text of at most ``longest`` characters that somebody types, tidied; with ``line``, on one line.

    ``wrong``: what is said where it has to be there and is not, with the remedy.
    """

    def __init__(
        self, longest: int = LONGEST, *, line: bool = False, wrong: str | Promise = "", required: bool = True
    ) -> None:
        self.longest, self.tidied = longest, tidy_line if line else tidy
        super().__init__(required=required, error_messages={"required": wrong} if wrong else None)

    def to_python(self, value: object) -> str:
        """Return the text; raise ValidationError for one that is too long."""
        return checked(self.tidied, str(value or ""), self.longest)


class SecretField(TypedField):
    """A code that somebody types, which no page shows again."""

    chosen = True


class LanguageField(forms.CharField):
    """A language by its tag."""

    chosen = True  # of a list; only who begins a language types its tag

    def to_python(self, value: object) -> str:
        """Return the tag; raise ValidationError for what is none."""
        text = super().to_python(value)
        return checked(checked_tag, text) if text else text


class OneOfField(forms.ChoiceField):
    """A choice that has to be made; ``wrong``: what is said where it is not, with the remedy."""

    def __init__(self, choices: Iterable[tuple[str, str]], wrong: str | Promise) -> None:
        super().__init__(choices=list(choices), error_messages=dict.fromkeys(("required", "invalid_choice"), wrong))


class Files(forms.FileInput):
    """Where files are chosen."""

    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Files that are sent together, or none."""

    widget = Files

    def clean(self, data: object, initial: object = None) -> list[object]:
        """Return the files, which :mod:`kapwa.studio.core.gate` looks at."""
        return [file for file in data if file] if isinstance(data, list) else []


# What is said where a reason is missing, and the remedy.
WHY = (_n("The reason is missing."), _n("Write what is wrong with the text, or a better one."))


class ReasonForm(PageForm):
    """Why somebody does not want a text, or decides against most people."""

    reason = TypedField(wrong=told(*WHY))


class RetireForm(PageForm):
    """What takes something out of use for a reason, or with ``back`` into it again."""

    back = forms.BooleanField(required=False)
    reason = TypedField(required=False)

    def clean(self) -> None:
        """Refuse what goes out of use without a reason."""
        if not self.errors and not self.cleaned_data["back"] and not self.cleaned_data["reason"]:
            self.add_error("reason", told(*WHY))

    @property
    def body(self) -> JsonObject:
        """The body of the event."""
        made = self.cleaned_data
        return {"retired": False} if made["back"] else {"retired": True, "reason": made["reason"]}
