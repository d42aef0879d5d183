import type { DatabaseSync } from 'node:sqlite';
import type { Durability } from './connection.ts';
import type { GraphRecord } from './graph-record.ts';

/** Questions by name: synchronous, in a read transaction. Input and output are plain data. */
export type Queries = Readonly<Record<string, (db: DatabaseSync, input: never) => unknown>>;

/** Writes by name: synchronous, inside a transaction. Input and output are plain data. */
export type Commands = Readonly<Record<string, (record: GraphRecord, input: never) => unknown>>;

export type Inputs<Calls extends Queries | Commands> = {
  readonly [Name in keyof Calls]: Parameters<Calls[Name]>[1];
};
export type Outputs<Calls extends Queries | Commands> = {
  readonly [Name in keyof Calls]: ReturnType<Calls[Name]>;
};

/** Who answers these questions, whatever else it answers. */
export interface RecordReader<Q extends Queries> {
  ask<Name extends keyof Q>(query: Name, input: Inputs<Q>[Name]): Promise<Outputs<Q>[Name]>;
}

/** Who performs these writes, whatever else it performs. A promise that resolves is a commit. */
export interface RecordWriter<C extends Commands> {
  run<Name extends keyof C>(
    command: Name,
    input: Inputs<C>[Name],
    durability?: Durability,
  ): Promise<Outputs<C>[Name]>;
}
