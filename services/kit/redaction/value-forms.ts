/** The forms in which a secret value can appear in text: itself, in JSON, in URLs, in base64 of anything around it. */
export function valueForms(value: string): string[] {
  const forms = new Set([value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)]);
  forms.add(new URLSearchParams([['', value]]).toString().slice(1));
  for (const form of base64Forms(Buffer.from(value))) {
    forms.add(form);
    forms.add(form.replaceAll('+', '-').replaceAll('/', '_'));
    forms.add(encodeURIComponent(form));
  }
  return [...forms];
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
