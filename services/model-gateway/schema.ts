import type { Schema } from '#kit/database/schema.ts';
import { ledgerTables } from './ledger/ledger-rows.ts';

/** The tables of core-model-gateway. */
export const gatewaySchema: Schema = {
  file: 'model-gateway/ledger.sqlite',
  codePrefix: 'ledger',
  name: 'the ledger',
  migrations: [ledgerTables],
  // With each commit on the disk the gateway adds 14 ms to a call instead of 1.3 ms (bench gateway).
  powerCutMs: 1_000,
  whenDamaged: 'Move it away to begin a new ledger; what was used so far is then not counted.',
};
