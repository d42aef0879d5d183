import { CoreError } from '../errors.ts';
import { readSettings, type SettingSources } from './settings.ts';

const usualMs = 10_000;

/** Milliseconds for an answer of a service, engine or program about how it is; the default where the settings cannot be read. */
export function answerMs(sources: SettingSources): number {
  try {
    return readSettings(sources).answers.seconds * 1000;
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
    return usualMs;
  }
}
