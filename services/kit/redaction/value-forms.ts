/** The forms in which a secret value can appear in text: itself, in JSON, in URLs, in base64 of anything around it. */
export function valueForms(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const forms = new Set([value, json, encodeURIComponent(value)]);
  // Other writers of JSON escape more: PHP the slash, .NET what could stand in HTML.
  forms.add(json.replaceAll('/', '\\/'));
  forms.add(json.replaceAll(/[<>&']/g, (character) => `\\u00${hexOf(character)}`));
  forms.add(json.replaceAll(/[+<>&'`]/g, (character) => `\\u00${hexOf(character).toUpperCase()}`));
  forms.add(new URLSearchParams([['', value]]).toString().slice(1));
  for (const form of base64Forms(Buffer.from(value))) {
    forms.add(form);
    forms.add(form.replaceAll('+', '-').replaceAll('/', '_'));
    forms.add(encodeURIComponent(form));
  }
  return [...forms];
}

function hexOf(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(2, '0');
}

/** Base64 has three phases; each gives the characters that depend on the value alone. */
function base64Forms(bytes: Buffer): string[] {
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
