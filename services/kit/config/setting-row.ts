export interface SettingRow {
  /** For example `agentd.port`. */
  readonly key: string;
  readonly value: unknown;
  readonly source: 'flag' | 'environment' | 'running' | 'user' | 'default';
  /** The flag, variable or file (of a running service, where `source` is `running`) that gave the value. */
  readonly where: string;
}
