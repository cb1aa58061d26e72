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
 * Functions that depend on a setting of the service: whether it has events, an inbox, or Wake.
 */
export type OptionalFunctionName = 'Announce' | 'ApplyInbox' | 'Wake'
