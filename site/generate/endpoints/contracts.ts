import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type * as t from 'io-ts';
import { type CodecDocs, codecDocs } from '../codecs/doc-comments.ts';

const root = fileURLToPath(new URL('../../../services/', import.meta.url));

/** What the source says about the codecs of the wire, found by the codec itself. */
export async function contractDocs(): Promise<(codec: t.Mixed) => CodecDocs | null> {
  const named = new Map<unknown, { readonly file: string; readonly constant: string }>();
  for (const file of globSync('kit/contracts/**/*.ts', { cwd: root }).sort()) {
    if (file.endsWith('.test.ts')) continue;
    const exported: Record<string, unknown> = await import(new URL(`file://${root}${file}`).href);
    for (const [constant, value] of Object.entries(exported)) {
      if (typeof value === 'object' && value !== null && 'decode' in value && !named.has(value))
        named.set(value, { file, constant });
    }
  }
  return (codec) => {
    const found = named.get(codec);
    return found === undefined ? null : codecDocs(found.file, found.constant);
  };
}
