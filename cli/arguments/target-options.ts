import type { OptionTable } from './option-table.ts'

export const ENDPOINT_STANDARD = 'http://localhost:8000'

/** Where the queues are. Every command that talks to queues takes these. */
export const targetOptions = {
  endpoint: {
    kind: 'text',
    value: 'URL',
    help: `the HTTP API (PUSHPOP_ENDPOINT, else ${ENDPOINT_STANDARD})`,
  },
  auth: {
    kind: 'choice',
    of: ['iam', 'token', 'none'],
    help: 'iam signs with your AWS credentials, token sends PUSHPOP_TOKEN; none on this machine',
  },
  table: { kind: 'text', value: 'T', help: 'the table itself, without the API (PUSHPOP_TABLE)' },
  bucket: { kind: 'text', value: 'B', help: 'with --table: its bucket (PUSHPOP_BUCKET)' },
  profile: { kind: 'text', value: 'P', help: 'an AWS profile (AWS_PROFILE)' },
  region: { kind: 'text', value: 'R', help: 'an AWS region (AWS_REGION)' },
  json: { kind: 'flag', help: 'JSON on stdout and nothing else there' },
  help: { kind: 'flag', help: 'print this' },
} as const satisfies OptionTable

export type TargetOptions = typeof targetOptions
