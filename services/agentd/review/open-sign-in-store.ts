import type { PostgresSettings } from '#kit/config/storage.ts';
import { FileSignInStore } from './file-sign-in-store.ts';
import type { SignInStore } from './sign-in-store.ts';

/** Beside those of the runs: signing in never waits for them. */
const connections = 2;

/** @param postgres null where files are used. Opens nothing yet: the first use does */
export async function openSignInStore(
  state: string,
  postgres: PostgresSettings | null,
): Promise<SignInStore> {
  if (postgres === null) return new FileSignInStore(state);
  const [{ openPostgres }, { PostgresSignInStore }] = await Promise.all([
    import('#kit/postgres/database.ts'),
    import('./postgres-sign-in-store.ts'),
  ]);
  return new PostgresSignInStore(
    openPostgres({ ...postgres, connections }, 'core-agentd', { pool: 'sign_ins' }),
  );
}
