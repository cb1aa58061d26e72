// Where DynamoDB is: what the SDK's rules come to for it. A test compares the two for every region.

type Environment = Readonly<Record<string, string | undefined>>

type Partition = { readonly regions: RegExp; readonly suffix: string; readonly dualStack: string }

const aws: Partition = { regions: /^/, suffix: 'amazonaws.com', dualStack: 'api.aws' }
/** Its FIPS endpoints are its plain ones. */
const usGov: Partition = { ...aws, regions: /^us-gov-/ }

const partitions: readonly Partition[] = [
  usGov,
  {
    regions: /^cn-/,
    suffix: 'amazonaws.com.cn',
    dualStack: 'api.amazonwebservices.com.cn',
  },
  { regions: /^eusc-/, suffix: 'amazonaws.eu', dualStack: 'api.amazonwebservices.eu' },
  { regions: /^us-iso-/, suffix: 'c2s.ic.gov', dualStack: 'api.aws.ic.gov' },
  { regions: /^us-isob-/, suffix: 'sc2s.sgov.gov', dualStack: 'api.aws.scloud' },
  { regions: /^eu-isoe-/, suffix: 'cloud.adc-e.uk', dualStack: 'api.cloud-aws.adc-e.uk' },
  { regions: /^us-isof-/, suffix: 'csp.hci.ic.gov', dualStack: 'api.aws.hci.ic.gov' },
  aws,
]

/** By the variables that the SDK goes by. What they say of accounts is refused: we do not know ours. */
export function endpointOf(region: string, environment: Environment): string {
  const fips = isOn(environment, 'AWS_USE_FIPS_ENDPOINT')
  const dualStack = isOn(environment, 'AWS_USE_DUALSTACK_ENDPOINT')
  if (environment.AWS_ACCOUNT_ID_ENDPOINT_MODE === 'required') {
    throw cannot('AWS_ACCOUNT_ID_ENDPOINT_MODE is "required"')
  }
  const given = isOn(environment, 'AWS_IGNORE_CONFIGURED_ENDPOINT_URLS')
    ? undefined
    : environment.AWS_ENDPOINT_URL_DYNAMODB || environment.AWS_ENDPOINT_URL
  if (given !== undefined && given !== '') {
    if (fips || dualStack) throw cannot('an endpoint is given as well as FIPS or dual-stack')
    return given
  }
  if (!/^[a-z0-9-]+$/i.test(region)) throw cannot(`"${region}" is no region`)
  const partition = partitions.find(({ regions }) => regions.test(region)) ?? aws
  const prefix = fips && !(partition === usGov && !dualStack) ? 'dynamodb-fips' : 'dynamodb'
  return `https://${prefix}.${region}.${dualStack ? partition.dualStack : partition.suffix}`
}

function isOn(environment: Environment, name: string): boolean {
  const value = environment[name]?.toLowerCase()
  if (value === undefined || value === '' || value === 'false') return false
  if (value === 'true') return true
  throw cannot(`${name} is "${value}", and not "true" or "false"`)
}

const cannot = (why: string): Error => new Error(`Cannot tell where DynamoDB is because ${why}`)
