export interface SettingRow {
  /** For example `agentd.port`. */
  readonly key: string;
  readonly value: unknown;
  readonly source: 'flag' | 'environment' | 'user' | 'default';
  /** The flag, variable or file that gave the value. */
  readonly where: string;
}
