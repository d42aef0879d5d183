/** The forms in which a secret value can appear in text: itself, in JSON, in URLs, in base64 of anything around it. */
export function valueForms(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const forms = new Set([value, json, encodeURIComponent(value)]);
  // Other writers of JSON escape more: PHP the slash, .NET what could stand in HTML.
  forms.add(json.replaceAll('/', '\\/'));
  forms.add(json.replaceAll(/[<>&']/g, (character) => `\\u00${hexOf(character)}`));
  forms.add(json.replaceAll(/[+<>&'`]/g, (character) => `\\u00${hexOf(character).toUpperCase()}`));
  // Gson and others escape the equals sign too; some escape all that is neither letter nor digit.
  for (const escaped of [/[<>&=']/g, /[^A-Za-z0-9\\]/g]) {
    forms.add(json.replaceAll(escaped, (character) => unicodeEscape(character)));
    forms.add(
      json.replaceAll(escaped, (character) => unicodeEscape(character).toUpperCase().replace('U', 'u')),
    );
  }
  forms.add(new URLSearchParams([['', value]]).toString().slice(1));
  for (const form of base64Forms(Buffer.from(value))) {
    forms.add(form);
    forms.add(form.replaceAll('+', '-').replaceAll('/', '_'));
    forms.add(encodeURIComponent(form));
  }
  return [...forms];
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function hexOf(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(2, '0');
}

/** Base64 has three phases; each gives the characters that depend on the value alone. */
export function base64Forms(bytes: Buffer): string[] {
  const forms: string[] = [];
  for (const offset of [0, 1, 2]) {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const first = Math.ceil((offset * 8) / 6);
    const last = Math.floor(((offset + bytes.length) * 8) / 6);
    // Shorter ones occur by chance.
    if (last - first >= 8) forms.push(text.slice(first, last));
  }
  return forms;
}

/** The pattern that matches a text and nothing else. */
export function literally(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
