export type FunctionName =
  | 'Push'
  | 'Pop'
  | 'Settle'
  | 'Inspect'
  | 'Manage'
  | 'Rate'
  | 'ReturnExpiredLocks'
  | 'Housekeep'
  | 'Health'

/** Those that a service has only with a setting: with events, with an inbox. */
export type OptionalFunctionName = 'Announce' | 'ApplyInbox'
