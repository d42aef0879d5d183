import type { Database } from '#kit/database/database.ts';

/**
 * A call has a number in files, which begins with the millisecond when it began, and a uuid in a database. A number is moved as the
 * uuid of version 8 that holds it, so that it is the same number when it comes back.
 */
const uuidPrefix = '00000000-0000-8000-80';
export const isNumbered = `id BETWEEN '${uuidPrefix}00-000000000000' AND '${uuidPrefix}ff-ffffffffffff'`;
/** SQL: the number of a call that has one. */
export const numberOfCall = "('x' || right(replace(id::text, '-', ''), 14))::bit(56)::bigint";

export function uuidOfCall(number: number): string {
  const digits = number.toString(16).padStart(14, '0');
  return `${uuidPrefix}${digits.slice(0, 2)}-${digits.slice(2)}`;
}

const perMillisecond = 1024;
const batch = 1_000;

/** Gives a number to each call that a database made, in the order of time. Nothing refers to a call that has ended. */
export async function numberCalls(database: Database): Promise<void> {
  const [row] = await database.query<{ last: string | null }>(
    `SELECT max(${numberOfCall}) AS last FROM gateway_calls WHERE ${isNumbered}`,
  );
  let last = Number(row?.last ?? 0);
  for (;;) {
    const calls = await database.query<{ id: string; ms: number }>(
      `SELECT id::text, floor(extract(epoch FROM began_at) * 1000)::float8 AS ms FROM gateway_calls
       WHERE NOT (${isNumbered}) ORDER BY began_at, id LIMIT ${batch}`,
    );
    if (calls.length === 0) return;
    const numbers = calls.map(({ ms }) => {
      last = Math.max(last + 1, ms * perMillisecond);
      return last;
    });
    await database.query(
      `UPDATE gateway_calls SET id = given.number FROM unnest($1::uuid[], $2::uuid[]) AS given (id, number)
       WHERE gateway_calls.id = given.id`,
      [calls.map(({ id }) => id), numbers.map(uuidOfCall)],
    );
  }
}
