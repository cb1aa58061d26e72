// Where DynamoDB or Lambda is: the same result as the SDK's rules. A test compares the two for every region.

type Environment = Readonly<Record<string, string | undefined>>

type Partition = { readonly regions: RegExp; readonly suffix: string; readonly dualStack: string }

const aws: Partition = { regions: /^/, suffix: 'amazonaws.com', dualStack: 'api.aws' }
/** There, DynamoDB's FIPS endpoints are its plain ones. */
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

type Service = {
  readonly host: string
  readonly variable: string
}

const dynamodb: Service = {
  host: 'dynamodb',
  variable: 'AWS_ENDPOINT_URL_DYNAMODB',
}
export const lambda: Service = {
  host: 'lambda',
  variable: 'AWS_ENDPOINT_URL_LAMBDA',
}

export type Endpoint = {
  readonly url: URL
  /** The region that requests are signed for. */
  readonly region: string
}

/**
 * The endpoint `named`, or the one from the SDK's environment variables. We refuse account-based endpoints, because we
 * do not know our account.
 */
export function endpointOf(
  namedRegion: string,
  environment: Environment,
  named?: string,
  service = dynamodb,
): Endpoint {
  const given = named ?? configured(environment, service)
  const region = realRegion(namedRegion)
  const fips = region !== namedRegion || isOn(environment, 'AWS_USE_FIPS_ENDPOINT')
  const dualStack = isOn(environment, 'AWS_USE_DUALSTACK_ENDPOINT')
  if (given !== undefined) {
    if (fips || dualStack) throw cannot('an endpoint is given as well as FIPS or dual-stack')
    return { url: urlOf(given), region }
  }
  if (environment.AWS_ACCOUNT_ID_ENDPOINT_MODE === 'required') {
    throw cannot('AWS_ACCOUNT_ID_ENDPOINT_MODE is "required"')
  }
  if (!/^[a-z0-9-]+$/i.test(region)) throw cannot(`"${region}" is no region`)
  if (region === 'local') {
    if (fips || dualStack) throw cannot('the region "local" has neither FIPS nor dual-stack')
    // DynamoDB local keeps the tables of each region apart: these are the SDK's.
    return { url: new URL('http://localhost:8000'), region: 'us-east-1' }
  }
  const partition = partitions.find(({ regions }) => regions.test(region)) ?? aws
  const isPlain = service === dynamodb && partition === usGov && !dualStack
  const prefix = fips && !isPlain ? `${service.host}-fips` : service.host
  const suffix = dualStack ? partition.dualStack : partition.suffix
  return { url: new URL(`https://${prefix}.${region}.${suffix}`), region }
}

function configured(environment: Environment, { variable }: Service): string | undefined {
  if (isOn(environment, 'AWS_IGNORE_CONFIGURED_ENDPOINT_URLS')) return undefined
  return environment[variable] || environment.AWS_ENDPOINT_URL || undefined
}

/** `us-east-1-fips` and `fips-us-east-1` are old names for FIPS in us-east-1. */
const realRegion = (region: string): string => region.replace(/^fips-|-fips$/g, '')

function urlOf(endpoint: string): URL {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  // "localhost:8000" is a URL too: its protocol is "localhost:".
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url
  throw cannot(`the endpoint "${endpoint}" is no URL such as http://localhost:8000`)
}

function isOn(environment: Environment, name: string): boolean {
  const value = environment[name]?.toLowerCase()
  if (value === undefined || value === '' || value === 'false') return false
  if (value === 'true') return true
  throw cannot(`${name} is "${value}", and not "true" or "false"`)
}

const cannot = (why: string): Error => new Error(`Cannot tell where DynamoDB is because ${why}`)
