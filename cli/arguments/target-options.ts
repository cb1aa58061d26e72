import { choice, flag, type OptionTable, text } from './option-table.ts'

export const ENDPOINT_STANDARD = 'http://localhost:8000'

/** Where the queues are. Every command that talks to queues takes these. */
export const targetOptions = {
  endpoint: text('URL', `the HTTP API (PUSHPOP_ENDPOINT, else ${ENDPOINT_STANDARD})`),
  auth: choice(
    ['iam', 'token', 'none'],
    'iam signs with your AWS credentials, token sends PUSHPOP_TOKEN; none on this machine',
  ),
  table: text('T', 'the table itself, without the API (PUSHPOP_TABLE)'),
  bucket: text('B', 'with --table: its bucket (PUSHPOP_BUCKET)'),
  profile: text('P', 'an AWS profile (AWS_PROFILE)'),
  region: text('R', 'an AWS region (AWS_REGION)'),
  json: flag('JSON on stdout and nothing else there'),
  help: flag('print this'),
} as const satisfies OptionTable

export type TargetOptions = typeof targetOptions
