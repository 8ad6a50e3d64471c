package pages

import (
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

// A flash says on the next page what a form did. The cookie carries only the name of a message below,
// so that nothing anybody else writes into it can appear on a page.
const (
	flashCookie = "apdesk_flash"
	flashLife   = time.Minute
)

var flashes = map[string]ui.Flash{
	"claimed":              {Tone: ui.ToneGood, Text: lang.Mark("You claimed this case. It is yours for 30 minutes, longer while you work on it.")},
	"released":             {Tone: ui.ToneGood, Text: lang.Mark("You released this case. Somebody else can claim it now.")},
	"taken_over":           {Tone: ui.ToneGood, Text: lang.Mark("You took this case over.")},
	"file_added":           {Tone: ui.ToneGood, Text: lang.Mark("The file is added.")},
	"erp_set":              {Tone: ui.ToneGood, Text: lang.Mark("The link to the ERP is saved.")},
	"commented":            {Tone: ui.ToneGood, Text: lang.Mark("Your comment is added.")},
	"decided":              {Tone: ui.ToneGood, Text: lang.Mark("Your decision is recorded, and the agent is told.")},
	"moved":                {Tone: ui.ToneGood, Text: lang.Mark("Your decision is recorded, and the case has moved to another queue.")},
	"asked":                {Tone: ui.ToneGood, Text: lang.Mark("Your question is with the agent. The case stays open until you decide.")},
	"asked_about":          {Tone: ui.ToneGood, Text: lang.Mark("Your question is with the agent. The request stays open, and can be decided meanwhile.")},
	"held":                 {Tone: ui.ToneGood, Text: lang.Mark("The case is held and comes back by itself.")},
	"voted_yes":            {Tone: ui.ToneGood, Text: lang.Mark("Your yes is recorded.")},
	"voted_no":             {Tone: ui.ToneGood, Text: lang.Mark("Your no is recorded; the write is refused.")},
	"sent_back":            {Tone: ui.ToneGood, Text: lang.Mark("The call is refused and sent back with your correction.")},
	"withdrawn":            {Tone: ui.ToneGood, Text: lang.Mark("The request is withdrawn.")},
	"revoked":              {Tone: ui.ToneGood, Text: lang.Mark("The approval is revoked and can no longer be used.")},
	"accepted":             {Tone: ui.ToneGood, Text: lang.Mark("Your acceptance is recorded. The agent can take it once, for exactly this call.")},
	"declined":             {Tone: ui.ToneGood, Text: lang.Mark("Your no is recorded; the server is told that a person refused.")},
	"cancelled":            {Tone: ui.ToneGood, Text: lang.Mark("The question is closed without an answer; the call does not go on.")},
	"server_added":         {Tone: ui.ToneGood, Text: lang.Mark("The rule is added. It counts for questions asked from now on.")},
	"server_retired":       {Tone: ui.ToneGood, Text: lang.Mark("The rule is retired. Questions already asked keep the role they have.")},
	"blocked":              {Tone: ui.ToneGood, Text: lang.Mark("The action is blocked on that channel from now on.")},
	"unblocked":            {Tone: ui.ToneGood, Text: lang.Mark("The action is allowed on that channel again.")},
	"switched":             {Tone: ui.ToneGood, Text: lang.Mark("You see another workspace now.")},
	"period_moved":         {Tone: ui.ToneGood, Text: lang.Mark("The closed period is changed.")},
	"holiday_added":        {Tone: ui.ToneGood, Text: lang.Mark("The holiday is added.")},
	"holiday_removed":      {Tone: ui.ToneGood, Text: lang.Mark("The holiday is removed.")},
	"binding_removed":      {Tone: ui.ToneGood, Text: lang.Mark("The tool's pointers are removed.")},
	"binding_set":          {Tone: ui.ToneGood, Text: lang.Mark("The tool's pointers are saved.")},
	"rule_added":           {Tone: ui.ToneGood, Text: lang.Mark("The rule is added. It routes new requests from now on.")},
	"rule_retired":         {Tone: ui.ToneGood, Text: lang.Mark("The rule is retired. Requests it routed keep their copy.")},
	"rule_changed":         {Tone: ui.ToneGood, Text: lang.Mark("The next version is saved. It routes new requests; those already asked keep their copy.")},
	"rules_imported":       {Tone: ui.ToneGood, Text: lang.Mark("The sheet is imported. It routes new requests from now on.")},
	"member_added":         {Tone: ui.ToneGood, Text: lang.Mark("They are a member of this workspace with these roles now; they were known to the desk already.")},
	"roles_set":            {Tone: ui.ToneGood, Text: lang.Mark("The roles are set and take effect at once.")},
	"deactivated":          {Tone: ui.ToneGood, Text: lang.Mark("The membership is deactivated. What that meant for claims, approvals and requests is done.")},
	"reactivated":          {Tone: ui.ToneGood, Text: lang.Mark("The membership is active again.")},
	"away":                 {Tone: ui.ToneGood, Text: lang.Mark("The absence is planned. Requests stay where they are, since nobody is named to decide meanwhile.")},
	"delegated_part":       {Tone: ui.ToneWarn, Text: lang.Mark("The absence is planned, and both people are told. Not everything moves to the delegate: what does not is said beside the absence.")},
	"delegated":            {Tone: ui.ToneGood, Text: lang.Mark("The absence is planned, and both people are told.")},
	"delegation_ended":     {Tone: ui.ToneGood, Text: lang.Mark("The absence is ended. What was not decided is back where it was.")},
	"preferences_set":      {Tone: ui.ToneGood, Text: lang.Mark("How you work is saved.")},
	"draft_discarded":      {Tone: ui.ToneGood, Text: lang.Mark("What you had typed is discarded.")},
	"snoozed":              {Tone: ui.ToneGood, Text: lang.Mark("The case is snoozed. It is out of the list, comes back by itself, and you are told then. The time it is due stays.")},
	"unsnoozed":            {Tone: ui.ToneGood, Text: lang.Mark("The case is back in the list.")},
	"rerouted":             {Tone: ui.ToneGood, Text: lang.Mark("The case has moved to another queue, where its time begins now.")},
	"hours_saved":          {Tone: ui.ToneGood, Text: lang.Mark("The hours are saved. They count for cases that arrive from now on.")},
	"view_kept":            {Tone: ui.ToneGood, Text: lang.Mark("The list is kept. It stands beside the queues, with how much is in it.")},
	"view_renamed":         {Tone: ui.ToneGood, Text: lang.Mark("The view has its new name.")},
	"view_deleted":         {Tone: ui.ToneGood, Text: lang.Mark("The view is deleted. The cases in it are as they were.")},
	"password_changed":     {Tone: ui.ToneGood, Text: lang.Mark("Your password is changed, and your other sessions have ended.")},
	"password_set":         {Tone: ui.ToneGood, Text: lang.Mark("Your password is set. Sign in with it.")},
	"joined":               {Tone: ui.ToneGood, Text: lang.Mark("You joined the workspace. Sign in as always.")},
	"session_ended":        {Tone: ui.ToneGood, Text: lang.Mark("The session has ended.")},
	"token_revoked":        {Tone: ui.ToneGood, Text: lang.Mark("The token is revoked. Calls with it are refused from now on.")},
	"invitation_withdrawn": {Tone: ui.ToneGood, Text: lang.Mark("The invitation is withdrawn. Its link is not good any more.")},
	"passkey_added":        {Tone: ui.ToneGood, Text: lang.Mark("The passkey is added. It is asked for when you sign in.")},
	"passkey_renamed":      {Tone: ui.ToneGood, Text: lang.Mark("The passkey has its new name.")},
	"passkey_removed":      {Tone: ui.ToneGood, Text: lang.Mark("The passkey is removed.")},
	"step_up_set":          {Tone: ui.ToneGood, Text: lang.Mark("Saved. It counts for approvals from now on.")},
	"factor_set":           {Tone: ui.ToneGood, Text: lang.Mark("Saved. It counts from the next page people open.")},
	"signed_out":           {Tone: ui.ToneInfo, Text: lang.Mark("You are signed out.")},
}

// say lets the next page say a message.
func (p *Pages) say(c *fiber.Ctx, message string) {
	if message == "" {
		return
	}
	c.Cookie(&fiber.Cookie{Name: p.auth.Cookie(c, flashCookie), Value: message, Path: "/", MaxAge: int(flashLife / time.Second),
		HTTPOnly: true, Secure: p.auth.Secure(c), SameSite: fiber.CookieSameSiteLaxMode})
}

// said takes the message left for this page, once.
func (p *Pages) said(c *fiber.Ctx) []ui.Flash {
	message, _, _ := strings.Cut(c.Cookies(p.auth.Cookie(c, flashCookie)), ".") // what follows names the record it is about
	if message == "" {
		return nil
	}
	c.Cookie(&fiber.Cookie{Name: p.auth.Cookie(c, flashCookie), Path: "/", MaxAge: -1, Expires: time.Unix(1, 0), HTTPOnly: true, Secure: p.auth.Secure(c), SameSite: fiber.CookieSameSiteLaxMode})
	flash, known := flashes[message]
	if !known {
		return nil
	}
	flash.Text = p.langOf(c).T(flash.Text)
	return []ui.Flash{flash}
}
