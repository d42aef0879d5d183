import { hash } from 'node:crypto';

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

/** The least hash of each permutation. */
export function signatureOf(grams: Iterable<string>): Uint32Array {
  const least = new Int32Array(permutations).fill(greatest);
  for (const gram of grams) lower(least, hashOf(gram, 0, gram.length));
  return unsigned(least);
}

/** That of a text's 3-grams, which are those of `trigrams`; none of them is made. */
export function signatureOfTrigrams(text: string): Uint32Array {
  const least = new Int32Array(permutations).fill(greatest);
  // What a long text has said lately is not looked at again.
  const lately = new Int32Array(text.length > 1_000 ? 4_096 : 0);
  if (text.length < 3) lower(least, hashOf(text, 0, text.length));
  for (let at = 0; at + 3 <= text.length; at++) {
    const value = hashOf(text, at, at + 3);
    if (lately.length > 0) {
      const place = value & 4_095;
      if (value !== 0 && lately[place] === value) continue;
      lately[place] = value;
    }
    lower(least, value);
  }
  return unsigned(least);
}

const greatest = 0x7fffffff;
const sign = 0x80000000 | 0;

/** Unsigned numbers are compared as signed ones with the first bit turned, which are integers to the machine too. */
function lower(least: Int32Array, value: number): void {
  for (let n = 0; n < permutations; n++) {
    const permuted = (Math.imul(value, multipliers[n]!) + offsets[n]!) | 0;
    const turned = permuted ^ (permuted >>> 15) ^ sign;
    if (turned < least[n]!) least[n] = turned;
  }
}

function unsigned(least: Int32Array): Uint32Array {
  for (let n = 0; n < permutations; n++) least[n]! ^= sign;
  return new Uint32Array(least.buffer);
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

/** FNV-1a of a part of a text, its bits mixed. */
function hashOf(text: string, from: number, to: number): number {
  let value = 0x811c9dc5;
  for (let at = from; at < to; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return mixed(value);
}

/** The finalizer of MurmurHash3. */
function mixed(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) | 0;
}
