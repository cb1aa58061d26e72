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

/**
 * Those that a service has only with a setting, or unless one says otherwise: with events, with an inbox, with Wake.
 */
export type OptionalFunctionName = 'Announce' | 'ApplyInbox' | 'Wake'
