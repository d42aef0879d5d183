import { hash } from 'node:crypto';
import { factOf, isTurn, type Remembered } from './memory-row.ts';
import { folded, normalised, trigrams } from './normalise.ts';

/**
 * MinHash (Broder 1997) with locality-sensitive bands. Of two sets with Jaccard 0.9, one of 6 bands of 5 rows agrees with a
 * probability of 1 − (1 − 0.9⁵)⁶ = 0.995; of two with 0.2, as texts that have nothing to do with each other, with 0.002.
 */
export const bandCount = 6;
const rowsPerBand = 5;
const permutations = bandCount * rowsPerBand;

const multipliers = new Int32Array(permutations);
const offsets = new Int32Array(permutations);
for (let n = 0; n < permutations; n++) {
  multipliers[n] = mixed(2 * n + 1) | 1;
  offsets[n] = mixed(2 * n + 2);
}

/** The smallest hash of each permutation. */
export function signatureOf(grams: Iterable<string>): Uint32Array {
  const smallest = new Uint32Array(permutations).fill(0xffffffff);
  for (const gram of grams) {
    const value = hashOf(gram);
    for (let n = 0; n < permutations; n++) {
      const permuted = (Math.imul(value, multipliers[n]!) + offsets[n]!) | 0;
      const hashed = (permuted ^ (permuted >>> 15)) >>> 0;
      if (hashed < smallest[n]!) smallest[n] = hashed;
    }
  }
  return smallest;
}

type ComparedMemory = Pick<
  Remembered,
  'layer' | 'session' | 'kind' | 'subject' | 'predicate' | 'about' | 'content' | 'steps'
>;

/** Where a memory meets others of its layer that are about the same: those of the same text, and those of a similar one. */
export interface Fingerprint {
  readonly text: number;
  readonly bands: readonly number[];
  /** 3-grams of its text. */
  readonly grams: ReadonlySet<string>;
}

/** null for facts and turns, which meet others by their subject and their place. */
export function fingerprintOf(memory: ComparedMemory): Fingerprint | null {
  if (isTurn(memory) || factOf(memory) !== null) return null;
  const { layer, about, content, steps } = memory;
  const scope = [layer, ...about].join('\n');
  const digest = hash('sha256', `${scope}\n\n${folded(content, steps)}`, 'buffer');
  const grams = trigrams(normalised(content, steps));
  return { text: digest.readUIntBE(0, 6), bands: bandsOf(signatureOf(grams), scope), grams };
}

/** Where the texts of one scope meet that are probably alike: 52-bit numbers, one for each band. */
export function bandsOf(signature: Uint32Array, scope: string): number[] {
  const digest = hash('sha256', scope, 'buffer');
  const [left, right] = [digest.readInt32LE(0), digest.readInt32LE(4)];
  const bands: number[] = [];
  for (let band = 0; band < bandCount; band++) {
    let [high, low] = [mixed(left + band), mixed(right - band)];
    for (let row = band * rowsPerBand; row < (band + 1) * rowsPerBand; row++) {
      high = mixed(high ^ signature[row]!) + row;
      low = Math.imul(mixed(low + signature[row]!), 0x01000193);
    }
    bands.push((mixed(high) >>> 12) * 2 ** 32 + (mixed(low) >>> 0));
  }
  return bands;
}

/** FNV-1a of a text, its bits mixed. */
function hashOf(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return mixed(value);
}

/** The finalizer of MurmurHash3. */
function mixed(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) | 0;
}
