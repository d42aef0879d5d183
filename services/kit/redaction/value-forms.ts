/** What writers of JSON escape that need not be: Python, Go, Jinja, Gson, .NET, and those that escape all but letters and digits. */
const escapedInJson = [
  /[\u0080-\uffff]/g,
  /[<>&]/g,
  /[<>&'\u0080-\uffff]/g,
  /[<>&=']/g,
  /\\"|[+<>&'`\u0080-\uffff]/g,
  /\\["\\]|[^A-Za-z0-9\\]/g,
];

/** The forms, some of them equal, in which a secret value can appear in text: itself, in JSON, in URLs, in base64 of anything around it. */
export function valueForms(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const jsonForms = escapedInJson.flatMap((escaped) => [
    json.replaceAll(escaped, (text) => `\\u${hexOf(text)}`),
    json.replaceAll(escaped, (text) => `\\u${hexOf(text).toUpperCase()}`),
  ]);
  return [
    value,
    json,
    ...jsonForms,
    // PHP escapes the slash.
    ...jsonForms.map((form) => form.replaceAll('/', '\\/')),
    encodeURIComponent(value),
    new URLSearchParams({ '': value }).toString().slice(1),
    ...base64Forms(Buffer.from(value)).flatMap((form) => [
      form,
      form.replaceAll('+', '-').replaceAll('/', '_'),
      encodeURIComponent(form),
    ]),
  ];
}

function hexOf(text: string): string {
  return text
    .charCodeAt(text.length - 1)
    .toString(16)
    .padStart(4, '0');
}

/** Base64 has three phases; each gives the characters that depend on the value alone. */
export function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
  });
}
