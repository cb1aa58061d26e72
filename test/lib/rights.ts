import type { Resource } from './synthesised.ts'

type Statement = {
  readonly Effect: string
  readonly Action: string | readonly string[]
  readonly Resource: unknown
  readonly Condition?: unknown
}

/**
 * What a function's role may do, as lines such as `dynamodb:Query on StorageTable/index/check`, from
 * every policy that names the role; all of it, so that whatever is added shows.
 */
export function rightsOf(resources: Readonly<Record<string, Resource>>, name: string): string[] {
  const roleId = resources[name]?.Properties.Role['Fn::GetAtt'][0] as string
  return rightsOfRole(resources, roleId)
}

export function rightsOfRole(
  resources: Readonly<Record<string, Resource>>,
  roleId: string,
): string[] {
  const role = resources[roleId]?.Properties ?? {}
  const attached = Object.values(resources)
    .filter(({ Type }) => Type === 'AWS::IAM::Policy' || Type === 'AWS::IAM::ManagedPolicy')
    .filter(({ Properties }) =>
      Properties.Roles?.some(({ Ref }: { Ref: string }) => Ref === roleId),
    )
    .map(({ Properties }) => Properties.PolicyDocument)
  const inline = (role.Policies ?? []).map(
    ({ PolicyDocument }: { PolicyDocument: unknown }) => PolicyDocument,
  )
  const managed = (role.ManagedPolicyArns ?? []).map((arn: unknown) => `managed ${nameOf(arn)}`)
  return [...new Set([...managed, ...[...attached, ...inline].flatMap(linesOf)])].sort()
}

/** The CDK's own ids end in a hash, which says nothing here. */
export const withoutHashes = (lines: readonly string[]): string[] =>
  lines.map((line) => line.replaceAll(/[0-9A-F]{8}(?=\/|\.|$| )/g, ''))

const linesOf = ({ Statement }: { Statement: readonly Statement[] }): string[] =>
  Statement.flatMap(({ Effect, Action, Resource, Condition }) =>
    [Action].flat().flatMap((action) =>
      [Resource].flat().map((resource) => {
        const exception = Effect === 'Allow' ? '' : `${Effect} `
        const condition = Condition === undefined ? '' : ` if ${JSON.stringify(Condition)}`
        return `${exception}${action} on ${nameOf(resource)}${condition}`
      }),
    ),
  )

/** A reference as a person would write it: the id for a name or an ARN, `Id.Attribute` for the rest. */
export function nameOf(value: unknown): string {
  if (typeof value === 'string') return value
  const [[key, inner]] = Object.entries(value as object) as [[string, unknown]]
  switch (key) {
    case 'Ref':
      return (inner as string).replace(/^AWS::/, '')
    case 'Fn::GetAtt': {
      const [id, attribute] = inner as [string, string]
      return attribute === 'Arn' ? id : `${id}.${attribute}`
    }
    case 'Fn::Join': {
      const [separator, parts] = inner as [string, unknown[]]
      return parts.map(nameOf).join(separator)
    }
    default:
      return JSON.stringify(value)
  }
}
