import { mapTexts } from '../map-texts.ts';
import { type FoundSecret, findSecrets, maskSpans } from './find-secrets.ts';
import { proseRules, type SecretRule, secretRules } from './secret-rules.ts';

/** Finds and masks what looks like a secret, except what a person released by its fingerprint. */
export interface SecretFinder {
  find(text: string): readonly FoundSecret[];
  /** The text with a mark in place of each detected secret. */
  mask(text: string): string;
  /** The same for what people write, with the rules for prose. */
  readonly prose: Pick<SecretFinder, 'find' | 'mask'>;
}

/** @param released fingerprints, for example `sha256:0123456789abcdef` */
export function secretFinder(released: readonly string[]): SecretFinder {
  const harmless = new Set(released);
  function finderBy(rules: readonly SecretRule[]): Pick<SecretFinder, 'find' | 'mask'> {
    const find = (text: string) =>
      findSecrets(text, rules).filter(({ fingerprint }) => !harmless.has(fingerprint));
    return { find, mask: (text) => maskSpans(text, find(text)) };
  }
  return { ...finderBy(secretRules), prose: finderBy(proseRules) };
}

/** One secret that was masked: which, and where it stood. */
export interface MaskedSecret {
  readonly kind: string;
  readonly fingerprint: string;
  /** For people, for example `the issue` or `file src/settings.js`. */
  readonly place: string;
}

/** Masks texts and remembers what it masked, each secret once for each place. */
export class MaskTally implements SecretFinder {
  readonly #secrets: SecretFinder;
  readonly #found = new Map<string, MaskedSecret>();

  constructor(secrets: SecretFinder) {
    this.#secrets = secrets;
  }

  get found(): readonly MaskedSecret[] {
    return [...this.#found.values()];
  }

  get prose(): SecretFinder['prose'] {
    return this.#secrets.prose;
  }

  find(text: string): readonly FoundSecret[] {
    return this.#secrets.find(text);
  }

  mask(text: string, place = 'a text'): string {
    const found = this.#secrets.find(text);
    this.add(found.map(({ kind, fingerprint }) => ({ kind, fingerprint, place: this.#secrets.mask(place) })));
    return maskSpans(text, found);
  }

  /** The same value with every string in it masked. */
  maskDeep<T>(value: T, place: string): T {
    return mapTexts(value, (text) => this.mask(text, place));
  }

  add(found: readonly MaskedSecret[]): void {
    for (const one of found) this.#found.set(JSON.stringify(one), one);
  }
}
